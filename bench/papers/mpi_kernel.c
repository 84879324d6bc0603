/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a small application takes, and where.
 *
 *     mpi_KERNEL_LIBRARY BUDGET_MS CALLS_MAX MODE:CLASS:ITERATIONS...
 *
 * BUDGET_MS, CALLS_MAX and MODE are not looked at: so many iterations are made, after two that are not timed, in which
 * whoever learns from calls may learn. Samples: microseconds of all iterations on the slowest rank; the two halves of a
 * hash of all results; and for each MPI call the figures of profile_call, means over ranks. Exit code 1 if results
 * are wrong.
 */
#include "bench/papers/mpi_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ranks/mpi_program.h"

enum {
  kWarmUp = 2,
  kHeadFigures = 3,
  kProfileCallsMax = 1024, /* the first ones; later ones are not kept */
  kProfileFigures = 4,     /* of a call, all doubles */
};

void* kernel_memory(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory != NULL) return memory;
  fprintf(stderr, "%s: no memory (bytes=%zu)\n", program_name, bytes);
  exit(1);
}

/* --- The profile --- */

/* Microseconds. */
typedef struct {
  double call;
  double before; /* from the call's end to the first look at what was received; without blocks all is `after` */
  double blocks; /* from there until the last block has been read, one after the other */
  double after;  /* from there to the next call, or to the end */
} profile_call;

static profile_call calls[kProfileCallsMax];
static profile_call unwanted; /* beyond those, and before the first */
static profile_call* current = &unwanted;
static int call_count;
static double last_us; /* when something was last said */

/* Since then. */
static double lap(void) {
  const double now = wall_us(), took = now - last_us;
  last_us = now;
  return took;
}

void profile_start(void) {
  call_count = 0;
  memset(calls, 0, sizeof(calls));
  current = &unwanted;
  lap();
}

void profile_enter(void) {
  current->after += lap();
  current = call_count < kProfileCallsMax ? &calls[call_count++] : &unwanted;
}

void profile_leave(void) { current->call += lap(); }

void profile_blocks(void) { current->before += lap(); }

void profile_blocks_read(void) { current->blocks += lap(); }

void profile_end(void) { current->after += lap(); }

/* --- The cell --- */

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
  if (!is_right) fprintf(stderr, "%s: rank %d: wrong results (class=%s)\n", program_name, mpi_rank, class_name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What rank 0 says of the cell. */
static void report(int cell, double took_us) {
  static double samples[kHeadFigures + kProfileCallsMax * kProfileFigures];
  const int figures = call_count * kProfileFigures;
  MPI_Reduce(calls, samples + kHeadFigures, figures, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < figures; i++) samples[kHeadFigures + i] /= mpi_size;
  uint64_t hash = kernel_hash(), hashes = 0;
  MPI_Reduce(&took_us, &samples[0], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&hash, &hashes, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  samples[1] = (double)(hashes >> 32);
  samples[2] = (double)(hashes & UINT32_MAX);
  if (mpi_rank == 0) say_samples(cell, samples, (uint32_t)(kHeadFigures + figures));
}

int measure_cell(int index, const char* text, double budget_us, int calls_max) {
  char class_name[16];
  int iterations;
  (void)budget_us;
  (void)calls_max;
  const int is_cell = sscanf(text, "%*[^:]:%15[^:]:%d", class_name, &iterations) == 2 && iterations > 0;
  if (!is_cell || !kernel_make(class_name, mpi_rank, mpi_size)) return 0;
  time_iterations(0, kWarmUp);
  const double took_us = time_iterations(kWarmUp, iterations);
  check_results(class_name);
  report(index, took_us);
  kernel_free();
  return 1;
}

void prepare_cells(void) {}
void release_cells(void) {}
