// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/pipeline_tree.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/random_costs.h"
#include "planner/algorithms/trees/earliest_completion_first.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

TEST(PipelineTreeTest, IsATreeOfBoundedFanout) {
  Prng prng(7);
  for (int i = 0; i < 60; ++i) {
    const BroadcastCosts costs = RandomTreeCosts(prng, 40);
    const uint32_t root = static_cast<uint32_t>(prng.Below(costs.node_count()));
    for (const uint32_t fanout : {1u, 2u, 5u}) {
      const auto tree = BuildPipelineTree(costs, root, fanout).value();
      EXPECT_TRUE(CheckBroadcastTree(tree, costs.node_count()).ok());
      EXPECT_EQ(tree.completion_ns, Completion(costs, tree.edges));
      for (const auto& children : ChildrenOf(tree)) EXPECT_LE(children.size(), fanout);
    }
  }
}

TEST(PipelineTreeTest, WithoutABoundIsEarliestCompletionFirst) {
  Prng prng(8);
  for (int i = 0; i < 60; ++i) {
    const BroadcastCosts costs = RandomTreeCosts(prng, 40);
    EXPECT_EQ(BuildPipelineTree(costs, 0, 100)->edges,
              BuildEarliestCompletionFirst(costs, 0, Accounting::kSound).edges);
  }
}

TEST(PipelineTreeTest, RefusesChildlessTrees) {
  Prng prng(9);
  EXPECT_THAT(BuildPipelineTree(RandomTreeCosts(prng, 9), 0, 0), FailsWith(absl::StatusCode::kInvalidArgument, "k=0"));
}

}  // namespace
}  // namespace copse::planner
