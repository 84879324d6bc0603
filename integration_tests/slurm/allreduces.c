/* SPDX-License-Identifier: Apache-2.0
 *
 * An MPI program that knows nothing of Copse: sums numbers over all ranks for so many seconds, and checks them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 0);
  long wrong = 0, rounds = 0;
  for (int goes_on = 1; goes_on; ++rounds) {
    long sum = 0, mine = rank + rounds;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != size * (size - 1) / 2 + size * rounds;
    goes_on = rounds < 100 || MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("ranks=%d wrong=%ld rounds=%ld\n", size, wrong, rounds);
  MPI_Finalize();
  return wrong != 0;
}
