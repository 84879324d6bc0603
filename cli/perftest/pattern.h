// SPDX-License-Identifier: Apache-2.0
//
// The ranks' contributions when data is checked, and the expected results.
#ifndef COPSE_CLI_PERFTEST_PATTERN_H_
#define COPSE_CLI_PERFTEST_PATTERN_H_

#include <cstdint>
#include <vector>

#include "base/element_types.h"

namespace copse::perftest {

// A Pattern computes the data of every rank in every call. It repeats after kPeriod elements, a prime, so that no
// section of a message equals its neighbor at a power of two. Values differ by seed, call, rank and place, and are
// exact in floating point for any order of the operands. A lost contribution shows also in results of operations such
// as `min`, in which most contributions have no effect: at each place another rank has the value that determines the
// result.
//
// The references are plain loops of their own; they share no code with the daemon's arithmetic. Thread-compatible.
class Pattern {
 public:
  static constexpr uint32_t kPeriod = 251;

  Pattern(ElementType type, ElementOp operation, uint32_t ranks, uint64_t seed);

  // Writes rank `rank`'s contribution to call number `call`.
  void Contribution(uint64_t call, uint32_t rank, uint64_t count, void* out) const;
  // Writes the combination of the contributions of the first `operands` ranks, at least one: its elements from `first`
  // on. O(kPeriod * operands + count).
  void Reduction(uint64_t call, uint32_t operands, uint64_t first, uint64_t count, void* out) const;
  // Writes the data that rank `from` sends to `to`: any values, independent of the operation. Data sent equally to all
  // ranks is that for `to` == `from`.
  void Moved(uint64_t call, uint32_t from, uint32_t to, uint64_t count, void* out) const;

 private:
  const ElementType type_;
  const ElementOp operation_;
  const uint32_t ranks_;
  const uint64_t seed_;
};

// Counts the elements of `bytes` bytes in which the two differ.
uint64_t CountDifferences(const void* a, const void* b, uint64_t count, uint32_t bytes);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_PATTERN_H_
