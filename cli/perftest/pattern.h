// SPDX-License-Identifier: Apache-2.0
//
// Computes the ranks' contributions when data is checked, and the expected results.
#ifndef COPSE_CLI_PERFTEST_PATTERN_H_
#define COPSE_CLI_PERFTEST_PATTERN_H_

#include <cstdint>

#include "base/element_types.h"

namespace copse::perftest {

// A Pattern computes the data of every rank in every call. Data repeats after kPeriod elements, a prime, so segments
// whose length is a power of two differ from their neighbors. Values depend on seed, call, rank and place, and are
// chosen so that floating-point results are exact for any order of the operands. At each place another rank has the
// value that determines the result of operations such as `min`, so that a lost contribution is detected there, too.
//
// Expected results come from base/element_reference.h, which shares no code with the daemon's arithmetic.
// Thread-compatible.
class Pattern {
 public:
  static constexpr uint32_t kPeriod = 251;

  Pattern(ElementType type, ElementOp operation, uint32_t ranks, uint64_t seed);

  // Writes the first `count` elements of rank `rank`'s contribution to call number `call`, a reduction.
  void Contribution(uint64_t call, uint32_t rank, uint64_t count, void* out) const;
  // Writes `count` elements, from element `first` on, of the reduction of the contributions of ranks 0 to `operands` -
  // 1; `operands` > 0. O(kPeriod * operands + count).
  void Reduction(uint64_t call, uint32_t operands, uint64_t first, uint64_t count, void* out) const;
  // Writes the `count` elements that rank `from` sends to `to` in a collective without reduction. For data that all
  // ranks receive, `to` is `from`.
  void Moved(uint64_t call, uint32_t from, uint32_t to, uint64_t count, void* out) const;

 private:
  const ElementType type_;
  const ElementOp operation_;
  const uint32_t ranks_;
  const uint64_t seed_;
};

// Counts the elements, of `bytes` bytes each, that differ between `a` and `b`.
uint64_t CountDifferences(const void* a, const void* b, uint64_t count, uint32_t bytes);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_PATTERN_H_
