// SPDX-License-Identifier: Apache-2.0
//
// Generates pseudo-random numbers, which are the same on every platform for the same seed. They are not fit for
// secrets.

#ifndef COPSE_BASE_PRNG_H_
#define COPSE_BASE_PRNG_H_

#include <cstdint>

namespace copse {

// A Prng is a xoshiro256** 1.0 generator (Blackman, Vigna 2018, public domain). Its state is filled from the seed by
// splitmix64, as the authors recommend. Code that needs randomness takes a Prng; nothing seeds itself.
// Thread-compatible; a copy produces the same sequence as the original.
class Prng {
 public:
  explicit Prng(uint64_t seed);

  // Returns a number that is uniform over all 64-bit values.
  uint64_t Next();

  // Returns a number that is uniform over [0, n), without bias. Requires n > 0. Draws once, rarely more often.
  uint64_t Below(uint64_t n);

  // Returns a multiple of 2^-53 that is uniform over [0, 1).
  double Unit();

  // Returns true with probability `p`: never if p <= 0, always if p >= 1. Always draws once.
  bool Chance(double p);

 private:
  uint64_t state_[4];
};

}  // namespace copse

#endif  // COPSE_BASE_PRNG_H_
