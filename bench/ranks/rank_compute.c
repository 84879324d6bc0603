/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ranks/rank_compute.h"

#include <time.h>

static volatile double seed = 0.5; /* a compiler may compute the rest by itself otherwise */

void compute(uint64_t rounds) {
  double x = seed;
  for (uint64_t i = 0; i < rounds; i++) x = x * 0.999999 + 1e-6;
  seed = x;
}

double thread_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

double rounds_a_ms(void) {
  const uint32_t rounds = 100000;
  double best = 1e12;
  for (int i = 0; i < 20; i++) {
    const double start = thread_us();
    compute(rounds);
    const double took = thread_us() - start;
    if (took < best) best = took;
  }
  return rounds * 1000.0 / best;
}
