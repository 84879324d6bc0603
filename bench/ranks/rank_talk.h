/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program of ranks talks with the benchmark that has started it (bench/rank_system.h), by rank 0's standard input
 * and output: `ready`, then, once the input has ended, a line of samples a cell.
 */
#ifndef COPSE_BENCH_RANKS_RANK_TALK_H_
#define COPSE_BENCH_RANKS_RANK_TALK_H_

#include <stdint.h>

/* Microseconds of a clock that only goes forward, the same on all nodes: these share the machine. */
double wall_us(void);

/* On rank 0. */
void say_ready(void);
void await_end_of_input(void);
void say_samples(int cell_index, const double* values, uint32_t count);

#endif /* COPSE_BENCH_RANKS_RANK_TALK_H_ */
