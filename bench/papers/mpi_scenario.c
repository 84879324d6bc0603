/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A blocking collective and the computation behind it, first such as has nothing to do with the data (unrelated), then
 * such as reads what was received, block by block (related).
 *
 *     mpi_scenario_LIBRARY BUDGET_MS CALLS_MAX MODE:COLLECTIVE:BYTES:UNRELATED_US:RELATED_US:ORDER...
 *
 * COLLECTIVE is `alltoall` with blocks of BYTES or `bcast` of BYTES, which is read in eight blocks. Ranks sleep in
 * place of computing, and need no core for it. ORDER is that in which blocks are read: `forward`, `reverse` or
 * `random`, the same on all ranks. MODE is not looked at.
 *
 * Samples, for each round (kFigures): microseconds of the slowest rank for
 *     the call, all of whose data is looked at at once
 *     both computations, on data that is there
 *     call and computations
 *     the call in that: until it returned
 *
 * Blocks have other data in each round: all of it is compared after the round, a part while it is read. Exit code 1 if
 * something is wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "bench/ranks/mpi_program.h"

const char program_name[] = "mpi_scenario";

enum {
  kFigures = 4,
  kRoundsMax = 64,
  kWarmUp = 4, /* rounds in which whoever learns from calls may learn */
  kSegments = 8,
  kPage = 4096,
  kWordBytes = 16,
};

typedef struct {
  int is_bcast;
  uint64_t bytes; /* of a block */
  uint32_t blocks;
  double unrelated_us, related_us;
  uint32_t* order;
  char *outgoing, *incoming; /* of bcast both are one */
} scenario;

static uint64_t current_round; /* what the data is of */

/* --- Data --- */

static uint64_t first_word(uint64_t from, uint64_t to) {
  return ((current_round * 4096 + from) * 4096 + to) * 0x9e3779b97f4a7c15u;
}

/* The word tells who sent the block, and for whom it was. */
static uint64_t word_of_received(const scenario* what, uint32_t block) {
  return what->is_bcast ? first_word(block, 0) : first_word(block, (uint64_t)mpi_rank);
}

static void fill_block(char* block, uint64_t bytes, uint64_t word) {
  for (uint64_t at = 0; at < bytes; at += sizeof(word), word++) memcpy(block + at, &word, sizeof(word));
}

static void fill(const scenario* what) {
  current_round++;
  for (uint32_t i = 0; i < what->blocks; i++) {
    if (!what->is_bcast) fill_block(what->outgoing + i * what->bytes, what->bytes, first_word((uint64_t)mpi_rank, i));
    if (what->is_bcast && mpi_rank == 0) fill_block(what->incoming + i * what->bytes, what->bytes, first_word(i, 0));
  }
}

/* One word in `step` bytes. */
static void read_block(const scenario* what, uint32_t block, uint64_t step) {
  const char* data = what->incoming + block * what->bytes;
  const uint64_t first = word_of_received(what, block);
  for (uint64_t at = 0; at < what->bytes; at += step) {
    uint64_t word;
    memcpy(&word, data + at, sizeof(word));
    if (word == first + at / sizeof(word)) continue;
    fprintf(stderr, "mpi_scenario: rank %d: wrong data (block=%u, byte=%llu)\n", mpi_rank, block,
            (unsigned long long)at);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void read_all(const scenario* what, uint64_t step) {
  for (uint32_t i = 0; i < what->blocks; i++) read_block(what, i, step);
}

static void make_order(const char* name, scenario* what) {
  what->order = malloc(what->blocks * sizeof(*what->order));
  for (uint32_t i = 0; i < what->blocks; i++) {
    what->order[i] = strcmp(name, "reverse") == 0 ? what->blocks - 1 - i : i;
  }
  if (strcmp(name, "random") != 0) return;
  uint64_t random = 20261123;
  for (uint32_t i = what->blocks; i-- > 1;) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint32_t j = (uint32_t)(random >> 33) % (i + 1), swapped = what->order[i];
    what->order[i] = what->order[j];
    what->order[j] = swapped;
  }
}

static int make_scenario(const char* text, scenario* what) {
  char collective[kWordBytes], order[kWordBytes];
  unsigned long long bytes;
  memset(what, 0, sizeof(*what));
  if (sscanf(text, "%*[^:]:%15[^:]:%llu:%lf:%lf:%15s", collective, &bytes, &what->unrelated_us, &what->related_us,
             order) != 5) {
    return 0;
  }
  what->is_bcast = strcmp(collective, "bcast") == 0;
  what->blocks = what->is_bcast ? kSegments : (uint32_t)mpi_size;
  what->bytes = what->is_bcast ? bytes / kSegments : bytes;
  if (what->bytes == 0 || what->bytes % kPage != 0) return 0;
  make_order(order, what);
  what->incoming = malloc(what->blocks * what->bytes);
  if (!what->is_bcast) what->outgoing = malloc(what->blocks * what->bytes);
  return what->incoming != NULL && (what->is_bcast || what->outgoing != NULL);
}

static void free_scenario(scenario* what) {
  free(what->order);
  free(what->incoming);
  free(what->outgoing);
}

/* --- A round --- */

static void sleep_us(double us) {
  if (us <= 0) return;
  const struct timespec time = {(time_t)(us / 1e6), (long)((us - 1e6 * (double)(time_t)(us / 1e6)) * 1e3)};
  nanosleep(&time, NULL);
}

/* Looks at a word of each page. */
static void compute_both(const scenario* what) {
  sleep_us(what->unrelated_us);
  for (uint32_t i = 0; i < what->blocks; i++) {
    read_block(what, what->order[i], kPage);
    sleep_us(what->related_us / what->blocks);
  }
}

/* Inline: a library that tells calls by where they are made sees those of time_call and time_all apart. */
static inline __attribute__((always_inline)) void call(const scenario* what) {
  const int bytes = (int)what->bytes;
  if (what->is_bcast) {
    MPI_Bcast(what->incoming, bytes * (int)what->blocks, MPI_BYTE, 0, MPI_COMM_WORLD);
  } else {
    MPI_Alltoall(what->outgoing, bytes, MPI_BYTE, what->incoming, bytes, MPI_BYTE, MPI_COMM_WORLD);
  }
}

static double time_call(const scenario* what) {
  fill(what);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = wall_us();
  call(what);
  read_all(what, kPage);
  const double took = wall_us() - start;
  read_all(what, sizeof(uint64_t));
  return took;
}

static double time_computation(const scenario* what) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = wall_us();
  compute_both(what);
  return wall_us() - start;
}

/* Microseconds, and those until the call returned in `in_call`. */
static double time_all(const scenario* what, double* in_call) {
  fill(what);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = wall_us();
  call(what);
  *in_call = wall_us() - start;
  compute_both(what);
  const double took = wall_us() - start;
  read_all(what, sizeof(uint64_t));
  return took;
}

/* Never inline: its calls are at the same two places in every round. */
static __attribute__((noinline)) void run_round(const scenario* what, double figures[kFigures]) {
  double own[kFigures];
  own[0] = time_call(what);
  own[1] = time_computation(what);
  own[2] = time_all(what, &own[3]);
  MPI_Reduce(own, figures, kFigures, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static void measure(int cell, const scenario* what, double budget_us, int rounds_max) {
  double figures[kRoundsMax * kFigures];
  for (int i = 0; i < kWarmUp; i++) run_round(what, figures);
  const double start = wall_us();
  run_round(what, figures);
  const double fit = budget_us / (wall_us() - start);
  int rounds = fit < 1 ? 1 : fit < rounds_max ? (int)fit : rounds_max;
  MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < rounds; i++) run_round(what, figures + i * kFigures);
  if (mpi_rank == 0) say_samples(cell, figures, (uint32_t)(rounds * kFigures));
}

void prepare_cells(void) { prctl(PR_SET_TIMERSLACK, 1); }
void release_cells(void) {}

int measure_cell(int index, const char* text, double budget_us, int calls_max) {
  scenario what;
  if (!make_scenario(text, &what)) return 0;
  measure(index, &what, budget_us, calls_max < kRoundsMax ? calls_max : kRoundsMax);
  free_scenario(&what);
  return 1;
}
