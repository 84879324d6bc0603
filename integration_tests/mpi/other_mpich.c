/* SPDX-License-Identifier: Apache-2.0
 *
 * An MPI of MPICH's family: MPICH behind another library's name and version. OTHER_MPICH names what else differs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { STANDARD_NULL = 0x100, LONGER_STATUS = 32 };

static int differs(const char* what) {
  const char* difference = getenv("OTHER_MPICH");
  return difference != NULL && strcmp(difference, what) == 0;
}

/* MPICH's own function; its type is that of the caller's result. */
#define OF_MPICH(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Its presence makes this library the program's MPI. */
int PMPI_Init(int* argc, char*** argv) { return OF_MPICH(PMPI_Init)(argc, argv); }

int PMPI_Get_library_version(char* version, int* length) {
  const char text[] = "Intel(R) MPI Library 2021.13 for Linux* OS\n";
  memcpy(version, text, sizeof(text));
  *length = (int)strlen(version);
  return MPI_SUCCESS;
}

int PMPI_Info_free(MPI_Info* info) {
  const int result = OF_MPICH(PMPI_Info_free)(info);
  if (differs("info")) *info = STANDARD_NULL;
  return result;
}
int PMPI_Comm_get_parent(MPI_Comm* parent) {
  const int result = OF_MPICH(PMPI_Comm_get_parent)(parent);
  if (differs("null")) *parent = STANDARD_NULL;
  return result;
}
int PMPI_Comm_test_inter(MPI_Comm comm, int* inter) {
  return differs("world") && comm == MPI_COMM_WORLD ? MPI_ERR_COMM : OF_MPICH(PMPI_Comm_test_inter)(comm, inter);
}
int PMPI_Type_size(MPI_Datatype type, int* size) {
  return OF_MPICH(PMPI_Type_size)(differs("type") && type == MPI_DOUBLE ? MPI_FLOAT : type, size);
}

int PMPI_Status_c2f(const MPI_Status* status, MPI_Fint* to) {
  memcpy(to, status, differs("status") ? LONGER_STATUS : sizeof(MPI_Status));
  return MPI_SUCCESS;
}
int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  const int result = OF_MPICH(PMPI_Wait)(request, status);
  if (differs("members") && status != MPI_STATUS_IGNORE) {
    const int source = status->MPI_SOURCE;
    status->MPI_SOURCE = status->MPI_TAG;
    status->MPI_TAG = source;
  }
  return result;
}
