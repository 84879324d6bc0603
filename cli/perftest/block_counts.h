// SPDX-License-Identifier: Apache-2.0
//
// How long the blocks of irregular collectives are.
#ifndef COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_
#define COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace copse::perftest {

enum class CountsKind {
  kEqual,   // all alike
  kHeavy,   // the last has half of all, the others share the rest
  kRandom,  // from nothing to about twice the mean, the same in every run
  kEmpty,   // one in eight has something
};

struct CountsKindRow {
  const char* name;
  CountsKind id;
};
const std::vector<CountsKindRow>& AllCountsKinds();
// Null if there is none of that name.
const CountsKindRow* FindCountsKind(std::string_view name);

// Elements of each of `ranks` blocks: `mean` * `ranks` in all, which must be below 2^64.
std::vector<uint64_t> BlockCounts(CountsKind kind, uint64_t mean, uint32_t ranks);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_BLOCK_COUNTS_H_
