// SPDX-License-Identifier: Apache-2.0
//
// What ranks contribute when data is checked, and what has to come out.
#ifndef COPSE_CLI_PERFTEST_PATTERN_H_
#define COPSE_CLI_PERFTEST_PATTERN_H_

#include <cstdint>
#include <vector>

#include "cli/perftest/collective.h"

namespace copse::perftest {

// A Pattern knows the data of every rank in every call. It repeats after kPeriod elements, a prime, so that no part of
// a message looks like its neighbour at a power of two. Values differ by seed, call, rank and place, and are exact in
// floating point whatever the order of the operands. Whether a contribution was lost shows also in results like that of
// `min`, which most contributions have no part in: at each place another rank has the value that decides.
//
// The references are plain loops of their own; nothing of the daemon's arithmetic is used. Thread-compatible.
class Pattern {
 public:
  static constexpr uint32_t kPeriod = 251;

  // `type` and `operation` must outlive this object.
  Pattern(const Datatype* type, const Operation* operation, uint32_t ranks, uint64_t seed);

  // Rank `rank`'s contribution to call number `call`.
  void Contribution(uint64_t call, uint32_t rank, uint64_t count, void* out) const;
  // What the contributions of the first `operands` ranks, at least one, combine to: its elements from `first` on.
  // O(kPeriod * operands + count).
  void Reduction(uint64_t call, uint32_t operands, uint64_t first, uint64_t count, void* out) const;
  // What rank `from` sends to `to`: any values, whatever the operation. What it sends to all alike it sends to itself.
  void Moved(uint64_t call, uint32_t from, uint32_t to, uint64_t count, void* out) const;

 private:
  const Datatype* const type_;
  const Operation* const operation_;
  const uint32_t ranks_;
  const uint64_t seed_;
};

// In how many elements of `bytes` bytes the two differ.
uint64_t CountDifferences(const void* a, const void* b, uint64_t count, uint32_t bytes);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_PATTERN_H_
