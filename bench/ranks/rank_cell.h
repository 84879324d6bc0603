/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell of a benchmark of ranks: what is called, with which data, and whether the result is right.
 */
#ifndef COPSE_BENCH_RANKS_RANK_CELL_H_
#define COPSE_BENCH_RANKS_RANK_CELL_H_

#include <stddef.h>
#include <stdint.h>

#include "bench/ranks/rank.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a call is timed: rank_main.c. */
typedef enum { kLatency, kTogether, kStream, kNoise, kCold, kOverlap, kModes } rank_mode;

/* How long the blocks of an irregular collective are: all alike; all half as long as the mean and the last rank's as
 * long as it takes; anything from 0 to twice the mean; one in eight eight times as long, the others empty. */
typedef enum { kEqual, kHeavy, kRandom, kEmpty, kPatterns } rank_pattern;

typedef struct {
  rank_mode mode;
  copse_collective_t collective;
  uint64_t bytes; /* of the buffer, or of one block; of irregular ones the mean block */
  rank_pattern pattern;
  int counts_known;
  int registered; /* buffers by rank_allocate, instead of the C library's */
} rank_cell;

/* MODE:COLLECTIVE:BYTES[:WORD]..., with words `equal`, `heavy`, `random`, `empty`, `known`, `registered`. Returns 0 if
 * it is not of this form. Bytes are rounded down to whole elements. */
int rank_parse_cell(const char* text, rank_cell* cell);

/* A rank's call, with its buffers and the numbers that say what should be in them. */
typedef struct {
  rank_cell cell;
  uint32_t rank, size;
  rank_call call;
  char *send, *receive; /* what call points to */
  size_t send_bytes, receive_bytes;
  uint64_t *counts, *displacements; /* NULL but for irregular collectives */
} rank_data;

/* Sets all but the buffers' addresses: how long they have to be. */
void rank_plan_data(const rank_cell* cell, uint32_t rank, uint32_t size, rank_data* data);
/* Puts this rank's contribution into the buffers, and nothing that could be a result where the result goes. */
void rank_fill(rank_data* data);
/* The first byte of the result that is wrong, or SIZE_MAX. Of results beyond 1 MiB not every element is looked at. */
size_t rank_find_wrong(const rank_data* data);
void rank_free_plan(rank_data* data);

#ifdef __cplusplus
}
#endif

#endif /* COPSE_BENCH_RANKS_RANK_CELL_H_ */
