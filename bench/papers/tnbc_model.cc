// SPDX-License-Identifier: Apache-2.0
#include "bench/papers/tnbc_model.h"

#include <algorithm>

namespace copse::bench::papers {

double ArrivalOf(const CallAndComputation& what, uint32_t index) {
  if (what.blocks == 1) return what.call;
  const double first = what.call * what.first_part;
  return first + (what.call - first) * index / (what.blocks - 1);
}

double Replay(const CallAndComputation& what) {
  double now = what.unrelated;
  for (uint32_t i = 0; i < what.blocks; ++i) {
    now = std::max(now, ArrivalOf(what, i)) + what.related / what.blocks;
  }
  return now + what.rest;
}

double OverlapAllowed(const CallAndComputation& what) { return what.blocking() - Replay(what); }

double Ceiling(const CallAndComputation& what) {
  return std::min(what.blocking() - what.call, what.call * (1 - what.first_part));
}

double NotReachedPercent(double possible, double reached) {
  if (possible <= 0) return 100;
  return 100 * (1 - reached / possible);
}

}  // namespace copse::bench::papers
