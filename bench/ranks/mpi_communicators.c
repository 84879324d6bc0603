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
#include <stdio.h>
#include <string.h>

#include "bench/ranks/mpi_program.h"

const char program_name[] = "mpi_communicators";

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
static double time_communicators(const use* what, int count) {
  const int parts = mpi_size < 4 ? 1 : 2;
  const double start = wall_us();
  for (int i = 0; i < count; i++) {
    MPI_Comm made;
    if (what->splits) {
      MPI_Comm_split(MPI_COMM_WORLD, mpi_rank % parts, mpi_rank, &made);
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &made);
    }
    for (int barrier = 0; barrier < what->barriers; barrier++) MPI_Barrier(made);
    MPI_Comm_free(&made);
  }
  return (wall_us() - start) / count;
}

int measure_cell(int index, const char* text, double budget_us, int calls_max) {
  double samples[kBatches], slowest[kBatches];
  use what;
  if (!parse_use(text, &what)) return 0;
  time_communicators(&what, 2);
  const double fit = budget_us / (time_communicators(&what, 4) + 0.1);
  int batch_count = (int)(fit < calls_max ? fit : calls_max) / kBatches;
  if (batch_count < 1) batch_count = 1;
  MPI_Bcast(&batch_count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int batch = 0; batch < kBatches; batch++) samples[batch] = time_communicators(&what, batch_count);
  MPI_Reduce(samples, slowest, kBatches, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (mpi_rank == 0) say_samples(index, slowest, kBatches);
  return 1;
}

void prepare_cells(void) {}
void release_cells(void) {}
