/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a cell of a benchmark of ranks (a call and its data), makes the data, and checks results.
 */
#ifndef COPSE_BENCH_RANKS_RANK_CELL_H_
#define COPSE_BENCH_RANKS_RANK_CELL_H_

#include <stddef.h>
#include <stdint.h>

#include "bench/ranks/rank.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rank_mode is a way to time calls; rank_main.c describes them. */
typedef enum { kLatency, kTogether, kStream, kNoise, kCold, kOverlap, kModes } rank_mode;

/* A rank_pattern is a distribution of the lengths of an irregular collective's blocks (cli/perftest/block_counts.h). */
typedef enum { kEqual, kHeavy, kRandom, kEmpty } rank_pattern;

typedef struct {
  rank_mode mode;
  copse_collective_t collective;
  uint64_t bytes; /* of the buffer, or of one block; of irregular ones the mean block */
  rank_pattern pattern;
  int counts_known;
  int registered; /* buffers by rank_allocate, instead of the C library's */
} rank_cell;

/* Parses MODE:COLLECTIVE:BYTES[:WORD]..., with words `equal`, `heavy`, `random`, `empty`, `known`, `registered`.
 * Returns 0 if the text has another form. Bytes are rounded down to whole elements. */
int rank_parse_cell(const char* text, rank_cell* cell);

/* A rank_data holds a rank's call, its buffers, and the parameters from which their content is computed. */
typedef struct {
  rank_cell cell;
  uint32_t rank, size;
  rank_call call;
  char *send, *receive; /* what call points to */
  size_t send_bytes, receive_bytes;
  uint64_t *counts, *displacements; /* NULL but for irregular collectives */
} rank_data;

/* Sets all members, including the lengths of the buffers, except the buffers' addresses. */
void rank_plan_data(const rank_cell* cell, uint32_t rank, uint32_t size, rank_data* data);
/* Writes this rank's contribution, and fills the memory for the result with bytes that cannot be a result. */
void rank_fill(rank_data* data);
/* Returns the offset of the first wrong byte of the result, or SIZE_MAX. */
size_t rank_find_wrong(const rank_data* data);
void rank_free_plan(rank_data* data);

#ifdef __cplusplus
}
#endif

#endif /* COPSE_BENCH_RANKS_RANK_CELL_H_ */
