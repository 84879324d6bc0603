// SPDX-License-Identifier: Apache-2.0
#include "bench/wide_area.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

namespace copse::bench {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(ThreeSitesTest, HasTheFiguresThatItsCommentSays) {
  const topology::Topology near = ThreeSites();
  ASSERT_EQ(near.nodes().size(), 12u);
  EXPECT_EQ(near.PathBetween(0, 1).latency_ns, kMs / 5);
  EXPECT_EQ(near.PathBetween(1, 2).latency_ns, kMs);
  EXPECT_EQ(near.PathBetween(3, 4).latency_ns, 10 * kMs);
  EXPECT_EQ(near.PathBetween(1, 2).bandwidth_bytes_per_s, 125'000'000);
  EXPECT_EQ(near.PathBetween(3, 4).bandwidth_bytes_per_s, 12'500'000);
}

TEST(ThreeSitesTest, AcrossIsTheSameNetworkWithOtherNumbers) {
  const topology::Topology near = ThreeSites(), across = ThreeSitesAcross();
  ASSERT_EQ(across.nodes().size(), 12u);
  EXPECT_EQ(across.switches(), near.switches());
  std::map<int64_t, int> pairs, pairs_across;  // by latency
  for (uint32_t a = 0; a < 12; ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      ++pairs[near.PathBetween(a, b).latency_ns];
      ++pairs_across[across.PathBetween(a, b).latency_ns];
    }
    EXPECT_EQ(across.PathBetween(a, (a + 1) % 12).latency_ns, 10 * kMs) << "neighbors in number, from " << a;
  }
  EXPECT_EQ(pairs_across, pairs);
}

}  // namespace
}  // namespace copse::bench
