/* SPDX-License-Identifier: Apache-2.0
 *
 * Chance by a seed (SplitMix64). */
#ifndef COPSE_INTEGRATION_TESTS_MPI_CHANCE_H_
#define COPSE_INTEGRATION_TESTS_MPI_CHANCE_H_

#include <stdint.h>

static inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
static inline uint64_t mix2(uint64_t a, uint64_t b) { return mix(mix(a) ^ b); }
static inline unsigned draw(uint64_t* state, unsigned below) {
  *state = mix(*state);
  return (unsigned)(*state >> 33) % below;
}
static inline int chance(uint64_t* state, unsigned percent) { return draw(state, 100) < percent; }

#endif /* COPSE_INTEGRATION_TESTS_MPI_CHANCE_H_ */
