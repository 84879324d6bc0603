/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes to make communicators, use them a little, and free them.
 *
 *     mpi_communicators_LIBRARY BUDGET_MS COUNT_MAX MODE:WAY:CALLS...
 *
 * WAY is `dup` of MPI_COMM_WORLD, or `split`, of it into ranks of even and of odd number, if they are two each; CALLS
 * is how many barriers each communicator sees. MODE is not looked at. Samples: microseconds of a communicator, from its
 * making to its end, on the slowest rank; one sample for each of a few batches. As many as fit in BUDGET_MS, at most
 * COUNT_MAX.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "bench/rank_talk.h"

enum { kBatches = 20, kWordBytes = 32 };

typedef struct {
  int splits;
  int barriers;
} use;

static int parse_use(const char* text, use* what) {
  char way[kWordBytes];
  if (sscanf(text, "%*[^:]:%31[^:]:%d", way, &what->barriers) != 2) return 0;
  what->splits = strcmp(way, "split") == 0;
  return what->splits || strcmp(way, "dup") == 0;
}

/* Microseconds of a communicator on this rank. */
static double time_communicators(const use* what, int rank, int count) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int parts = size < 4 ? 1 : 2;
  const double start = wall_us();
  for (int i = 0; i < count; i++) {
    MPI_Comm made;
    if (what->splits) {
      MPI_Comm_split(MPI_COMM_WORLD, rank % parts, rank, &made);
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &made);
    }
    for (int barrier = 0; barrier < what->barriers; barrier++) MPI_Barrier(made);
    MPI_Comm_free(&made);
  }
  return (wall_us() - start) / count;
}

static void measure(int cell, const use* what, int rank, double budget_us, int count_max) {
  double samples[kBatches], slowest[kBatches];
  time_communicators(what, rank, 2);
  const double fit = budget_us / (time_communicators(what, rank, 4) + 0.1);
  int batch_count = (int)(fit < count_max ? fit : count_max) / kBatches;
  if (batch_count < 1) batch_count = 1;
  MPI_Bcast(&batch_count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int batch = 0; batch < kBatches; batch++) samples[batch] = time_communicators(what, rank, batch_count);
  MPI_Reduce(samples, slowest, kBatches, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) say_samples(cell, slowest, kBatches);
}

int main(int argc, char** argv) {
  int rank;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank polls for ever if its launcher is killed */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 4) {
    fprintf(stderr, "usage: mpi_communicators_LIBRARY BUDGET_MS COUNT_MAX CELL...\n");
    return 2;
  }
  if (rank == 0) {
    say_ready();
    await_end_of_input();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 3; i < argc; i++) {
    use what;
    if (!parse_use(argv[i], &what)) {
      fprintf(stderr, "mpi_communicators: usage: not a cell (cell=%s)\n", argv[i]);
      return 2;
    }
    measure(i - 3, &what, rank, atof(argv[1]) * 1e3, atoi(argv[2]));
  }
  MPI_Finalize();
  return 0;
}
