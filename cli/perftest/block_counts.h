// SPDX-License-Identifier: Apache-2.0
//
// Chooses the lengths of the blocks of irregular collectives.
#ifndef COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_
#define COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace copse::perftest {

enum class CountsKind {
  kEqual,   // all equal
  kHeavy,   // the last block has half of all elements, the others share the rest equally
  kRandom,  // from 0 to about twice the mean, equal in every run
  kEmpty,   // all empty but the first of each eight
};

inline constexpr std::string_view kCountsKindNames[] = {"equal", "heavy", "random", "empty"};

// Returns the number of elements of each rank's block, for `ranks` > 0. The sum is `mean` * `ranks`, which must be
// below 2^64.
std::vector<uint64_t> BlockCounts(CountsKind kind, uint64_t mean, uint32_t ranks);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_
