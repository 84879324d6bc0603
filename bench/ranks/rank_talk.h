/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the protocol between a program of ranks and the benchmark that has started it (bench/rank_system.h), over
 * rank 0's standard input and output: `ready`, then, after the end of the input, a line of samples for each cell.
 */
#ifndef COPSE_BENCH_RANKS_RANK_TALK_H_
#define COPSE_BENCH_RANKS_RANK_TALK_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns microseconds of a monotonic clock, which is equal on all nodes since these are on one machine. */
double wall_us(void);

/* Only rank 0 calls these. */
void say_ready(void);
void await_end_of_input(void);
void say_samples(int cell_index, const double* values, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* COPSE_BENCH_RANKS_RANK_TALK_H_ */
