/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ranks/mpi_program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int mpi_rank, mpi_size;

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank polls for ever if its launcher is killed */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
  if (argc < 4) {
    fprintf(stderr, "usage: %s_LIBRARY BUDGET_MS CALLS_MAX CELL...\n", program_name);
    return 2;
  }
  prepare_cells();
  if (mpi_rank == 0) {
    say_ready();
    await_end_of_input();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 3; i < argc; i++) {
    if (measure_cell(i - 3, argv[i], atof(argv[1]) * 1e3, atoi(argv[2]))) continue;
    fprintf(stderr, "%s: usage: not a cell, or not of so many ranks (cell=%s, ranks=%d)\n", program_name, argv[i],
            mpi_size);
    return 2;
  }
  release_cells();
  MPI_Finalize();
  return 0;
}
