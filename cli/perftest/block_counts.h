// SPDX-License-Identifier: Apache-2.0
//
// The lengths of the blocks of irregular collectives.
#ifndef COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_
#define COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace copse::perftest {

enum class CountsKind {
  kEqual,   // all equal
  kHeavy,   // the last has half of all, the others share the rest
  kRandom,  // from 0 to about twice the mean, the same in every run
  kEmpty,   // one in eight is not empty
};

inline constexpr std::string_view kCountsKindNames[] = {"equal", "heavy", "random", "empty"};

// Returns the elements of each of `ranks` blocks: `mean` * `ranks` in all, which must be below 2^64.
std::vector<uint64_t> BlockCounts(CountsKind kind, uint64_t mean, uint32_t ranks);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_
