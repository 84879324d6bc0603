// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/block_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace copse::perftest {
namespace {

TEST(BlockCountsTest, HaveTheMeanThatWasAskedFor) {
  for (const CountsKind kind : {CountsKind::kEqual, CountsKind::kHeavy, CountsKind::kRandom, CountsKind::kEmpty}) {
    for (const uint32_t ranks : {1u, 2u, 3u, 7u, 8u, 9u, 64u, 1000u}) {
      for (const uint64_t mean : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{1000}, UINT64_MAX / 1000}) {
        const std::vector<uint64_t> counts = BlockCounts(kind, mean, ranks);
        ASSERT_EQ(counts.size(), ranks);
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), mean * ranks)
            << static_cast<int>(kind) << " " << ranks << " " << mean;
      }
    }
  }
}

TEST(BlockCountsTest, AreOfTheirKind) {
  EXPECT_EQ(BlockCounts(CountsKind::kEqual, 10, 4), (std::vector<uint64_t>{10, 10, 10, 10}));
  EXPECT_EQ(BlockCounts(CountsKind::kHeavy, 12, 4), (std::vector<uint64_t>{8, 8, 8, 24}));
  EXPECT_EQ(BlockCounts(CountsKind::kEmpty, 1, 10), (std::vector<uint64_t>{5, 0, 0, 0, 0, 0, 0, 0, 5, 0}));
  const std::vector<uint64_t> random = BlockCounts(CountsKind::kRandom, 1000, 64);
  EXPECT_LT(*std::min_element(random.begin(), random.end()), 200u);
  EXPECT_GT(*std::max_element(random.begin(), random.end()), 1600u);
}

}  // namespace
}  // namespace copse::perftest
