// SPDX-License-Identifier: Apache-2.0
//
// Declares the functions that start and complete requests, by their MPI names and arguments. They work on requests of
// this library and of MPI, also mixed in one array.
#ifndef COPSE_CLIENT_MPI_COMPLETIONS_H_
#define COPSE_CLIENT_MPI_COMPLETIONS_H_

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

int Wait(MPI_Request* request, MPI_Status* status);
int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status);
int Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]);
int Test(MPI_Request* request, int* done, MPI_Status* status);
int Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]);
int Testany(int count, MPI_Request requests[], int* index, int* done, MPI_Status* status);
int Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]);
int Request_get_status(MPI_Request request, int* done, MPI_Status* status);
int Request_free(MPI_Request* request);
int Cancel(MPI_Request* request);
int Start(MPI_Request* request);
int Startall(int count, MPI_Request requests[]);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_COMPLETIONS_H_
