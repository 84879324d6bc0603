// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/sub_team_tree.h"

#include <vector>

#include "daemon/core/testing/test_plan.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

TEST(PlaceInTreeTest, OneNodeIsTheRoot) { EXPECT_EQ(PlaceInTree({}, 1, NodeIndex(0)), TreePlace{}); }

TEST(PlaceInTreeTest, NodeWithMostEdgesIsTheRoot) {
  // 0 - 1 - 2 - 3, and 2 - 4.
  const std::vector<schedule::Plan> plans = {TestPlan(Collective::kBarrier, {{1}, {0, 2}, {1, 3, 4}, {2}, {2}})};
  const TreePlace expected[] = {{NodeIndex(2), NodeIndex(1)},
                                {NodeIndex(2), NodeIndex(2)},
                                {NodeIndex(2), {}},
                                {NodeIndex(2), NodeIndex(2)},
                                {NodeIndex(2), NodeIndex(2)}};
  for (uint32_t v = 0; v < 5; ++v) EXPECT_EQ(PlaceInTree(plans, 5, NodeIndex(v)), expected[v]) << v;
}

TEST(PlaceInTreeTest, NodesThatAreNotConnectedHaveNoTree) {
  const std::vector<schedule::Plan> plans = {TestPlan(Collective::kBarrier, {{1}, {0}, {}})};
  for (uint32_t v = 0; v < 3; ++v) EXPECT_EQ(PlaceInTree(plans, 3, NodeIndex(v)), std::nullopt) << v;
}

TEST(PlaceInTreeTest, EdgesOfAllPlansCount) {
  const std::vector<schedule::Plan> plans = {TestPlan(Collective::kBarrier, {{1}, {0, 2}, {1}}),
                                             TestPlan(Collective::kAllreduce, {{1, 2}, {0}, {0}})};
  EXPECT_EQ(PlaceInTree(plans, 3, NodeIndex(0)), (TreePlace{NodeIndex(0), {}}));
  EXPECT_EQ(PlaceInTree(plans, 3, NodeIndex(2)), (TreePlace{NodeIndex(0), NodeIndex(0)}));
}

}  // namespace
}  // namespace copse::daemon
