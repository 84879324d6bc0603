/* SPDX-License-Identifier: Apache-2.0
 *
 * An MPI program that prints where it runs: rank 0 writes "HOST RANK COPSE_SOCKET" of each rank, in order, then "sum"
 * with the sum of all ranks' numbers from 1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kTextBytes = 256 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  char mine[kTextBytes] = {0}, host[64] = {0};
  gethostname(host, sizeof(host) - 1);
  const char* socket = getenv("COPSE_SOCKET");
  snprintf(mine, sizeof(mine), "%s %d %s", host, rank, socket != NULL ? socket : "-");
  char* all = malloc((size_t)size * kTextBytes);
  MPI_Gather(mine, kTextBytes, MPI_CHAR, all, kTextBytes, MPI_CHAR, 0, MPI_COMM_WORLD);

  const double number = rank + 1;
  double sum = 0;
  MPI_Allreduce(&number, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < size; ++i) printf("%s\n", all + (size_t)i * kTextBytes);
    printf("sum %g\n", sum);
  }
  free(all);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
