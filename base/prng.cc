// SPDX-License-Identifier: Apache-2.0

#include "base/prng.h"

#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/hash.h"

namespace copse {

Prng::Prng(uint64_t seed) {
  // splitmix64 is a counter with this increment, whose values go through Mix64.
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15;
    word = Mix64(seed);
  }
}

uint64_t Prng::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Prng::Below(uint64_t n) {
  CHECK_GT(n, 0u);
  // The 2^64 mod n smallest values would make small remainders likelier, so they are drawn again.
  const uint64_t rejected = (0 - n) % n;
  uint64_t value = Next();
  while (value < rejected) value = Next();
  return value % n;
}

double Prng::Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

bool Prng::Chance(double p) { return Unit() < p; }

}  // namespace copse
