// SPDX-License-Identifier: Apache-2.0
//
// The intercepted collectives, by their MPI names and arguments.
#ifndef COPSE_CLIENT_MPI_COLLECTIVES_H_
#define COPSE_CLIENT_MPI_COLLECTIVES_H_

#include "client/mpi/mpi_api.h"

namespace copse::mpi {

int Barrier(MPI_Comm comm);
int Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int Gather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count, MPI_Datatype recv_type,
           int root, MPI_Comm comm);
int Scatter(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
            MPI_Datatype recv_type, int root, MPI_Comm comm);
int Allgather(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
              MPI_Datatype recv_type, MPI_Comm comm);
int Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* recv, int recv_count,
             MPI_Datatype recv_type, MPI_Comm comm);

int Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int* recv_counts,
            const int* displacements, MPI_Datatype recv_type, int root, MPI_Comm comm);
int Scatterv(const void* send, const int* send_counts, const int* displacements, MPI_Datatype send_type, void* recv,
             int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm);
int Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* recv, const int* recv_counts,
               const int* displacements, MPI_Datatype recv_type, MPI_Comm comm);
int Alltoallv(const void* send, const int* send_counts, const int* send_displacements, MPI_Datatype send_type,
              void* recv, const int* recv_counts, const int* recv_displacements, MPI_Datatype recv_type, MPI_Comm comm);

int Reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int Reduce_scatter(const void* send, void* recv, const int* recv_counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int Reduce_scatter_block(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int Exscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_COLLECTIVES_H_
