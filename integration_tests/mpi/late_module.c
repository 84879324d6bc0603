/* SPDX-License-Identifier: Apache-2.0
 *
 * What late_host.c loads. */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 20 };

__attribute__((visibility("default"))) int run(void) {
  int rank, sum = 0, one = 1, size;
  if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < CALLS; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d of %d\n", sum, size);
  return MPI_Finalize() != MPI_SUCCESS || sum != size;
}
