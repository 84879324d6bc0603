// SPDX-License-Identifier: Apache-2.0
#include "schedule/cycle_tree.h"

#include "gtest/gtest.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

using Steps = std::vector<uint32_t>;

TEST(CycleTreeTest, ParentsAndChildrenAgreeAndAllReachTheOwner) {
  for (const char* kind : {"ring", "doubling"}) {
    for (uint32_t n = 1; n <= 70; ++n) {
      const Steps distances = Distances(kind, n);
      std::vector<uint32_t> named(n, 0);
      for (uint32_t at = 0; at < n; ++at) {
        const CycleTree tree = CycleTreeAt(distances, n, at);
        EXPECT_EQ(tree.parent == 0, at == 0);
        for (const uint32_t step : tree.children) {
          ++named[at + step];
          EXPECT_EQ(CycleTreeAt(distances, n, at + step).parent, step) << n << ": " << at;
        }
      }
      EXPECT_EQ(named[0], 0u);
      for (uint32_t at = 1; at < n; ++at) EXPECT_EQ(named[at], 1u) << n << ": " << at;
    }
  }
}

TEST(CycleTreeTest, IsAChainOrBinomial) {
  EXPECT_EQ(CycleTreeAt({Steps{1}}, 5, 0).children, Steps{1});
  EXPECT_EQ(CycleTreeAt({Steps{1}}, 5, 4).children, Steps{});
  EXPECT_EQ(CycleTreeAt({Steps{1, 2, 4}}, 8, 0).children, (Steps{1, 2, 4}));
  EXPECT_EQ(CycleTreeAt({Steps{1, 2, 4}}, 8, 4).children, (Steps{1, 2}));
  EXPECT_EQ(CycleTreeAt({Steps{1, 2, 4}}, 6, 4).children, Steps{1});
  EXPECT_EQ(CycleTreeAt({Steps{1, 2, 4}}, 8, 6).parent, 2u);
}

}  // namespace
}  // namespace copse::schedule
