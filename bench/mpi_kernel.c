/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a small application takes, and where.
 *
 *     mpi_KERNEL_LIBRARY BUDGET_MS CALLS_MAX MODE:CLASS:ITERATIONS...
 *
 * BUDGET_MS, CALLS_MAX and MODE are not looked at: so many iterations are made, after two that are not timed, in which
 * whoever learns from calls may learn. Samples: microseconds of all iterations on the slowest rank; the two halves of a
 * hash of all results; and for each MPI call the figures of call_profile.h, means over ranks. Exit code 1 if results
 * are wrong.
 */
#include "bench/mpi_kernel.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "bench/call_profile.h"
#include "bench/rank_talk.h"

enum { kWarmUp = 2, kHeadFigures = 3 };

static int rank, size;

void* kernel_memory(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory != NULL) return memory;
  fprintf(stderr, "mpi_%s: no memory (bytes=%zu)\n", kernel_name, bytes);
  exit(1);
}

static double time_iterations(int first, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  profile_start();
  const double start = wall_us();
  for (int i = 0; i < count; i++) kernel_iterate(first + i);
  profile_end();
  return wall_us() - start;
}

static void check_results(const char* class_name) {
  int is_right = kernel_is_right(), all_right = 0;
  MPI_Allreduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all_right) return;
  if (!is_right) fprintf(stderr, "mpi_%s: rank %d: wrong results (class=%s)\n", kernel_name, rank, class_name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What rank 0 says of the cell. */
static void report(int cell, double took_us) {
  static double samples[kHeadFigures + kProfileCallsMax * kProfileFigures];
  int calls;
  const double* profile = (const double*)profile_calls(&calls);
  const int figures = calls * kProfileFigures;
  MPI_Reduce(profile, samples + kHeadFigures, figures, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < figures; i++) samples[kHeadFigures + i] /= size;
  uint64_t hash = kernel_hash(), hashes = 0;
  MPI_Reduce(&took_us, &samples[0], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&hash, &hashes, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  samples[1] = (double)(hashes >> 32);
  samples[2] = (double)(hashes & UINT32_MAX);
  if (rank == 0) say_samples(cell, samples, (uint32_t)(kHeadFigures + figures));
}

static int measure(int cell, const char* text) {
  char class_name[16];
  int iterations;
  const int is_cell = sscanf(text, "%*[^:]:%15[^:]:%d", class_name, &iterations) == 2 && iterations > 0;
  if (!is_cell || !kernel_make(class_name, rank, size)) {
    fprintf(stderr, "mpi_%s: usage: not a cell, or not of so many ranks (cell=%s, ranks=%d)\n", kernel_name, text,
            size);
    return 0;
  }
  time_iterations(0, kWarmUp);
  const double took_us = time_iterations(kWarmUp, iterations);
  check_results(class_name);
  report(cell, took_us);
  kernel_free();
  return 1;
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a rank polls for ever if its launcher is killed */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4) {
    fprintf(stderr, "usage: mpi_%s_LIBRARY BUDGET_MS CALLS_MAX CELL...\n", kernel_name);
    return 2;
  }
  if (rank == 0) {
    say_ready();
    await_end_of_input();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 3; i < argc; i++) {
    if (!measure(i - 3, argv[i])) return 2;
  }
  MPI_Finalize();
  return 0;
}
