/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computation that takes as long as is wanted, of one core.
 */
#ifndef COPSE_BENCH_RANKS_RANK_COMPUTE_H_
#define COPSE_BENCH_RANKS_RANK_COMPUTE_H_

#include <stdint.h>

/* Arithmetic in registers: nothing else on the machine makes it slower than by taking the core. */
void compute(uint64_t rounds);
/* Rounds of `compute` in 1 ms of a core: by this thread's own time, since others compute too. */
double rounds_a_ms(void);
/* This thread's processor time, in microseconds. */
double thread_us(void);

#endif /* COPSE_BENCH_RANKS_RANK_COMPUTE_H_ */
