// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/known_shapes.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/testing/test_plan.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

const TreePlace kTree{NodeIndex(1), NodeIndex(1)};

SharedLayout Layout(const std::vector<uint32_t>& node_of_rank, uint64_t incarnation = 10) {
  schedule::TeamLayout layout{.id = TeamId(1), .shape = {.node_count = 2}};
  for (const uint32_t node : node_of_rank) layout.shape.node_of_rank.push_back(NodeIndex(node));
  for (uint32_t n = 0; n < 2; ++n) layout.nodes.push_back({"n" + std::to_string(n), Incarnation(incarnation + n), "a"});
  return IndexLayout(std::move(layout));
}

std::shared_ptr<const VerifiedPlans> Plans(uint64_t id) {
  std::vector<schedule::Plan> plans = {TestPlan(Collective::kBarrier, {{1}, {0}})};
  plans[0].id = PlanId(id);
  return std::make_shared<VerifiedPlans>(std::move(plans), Layout({0, 1})->shape(), NodeIndex(0));
}

TEST(KnownShapesTest, NodesAndRanksMustBeEqual) {
  KnownShapes shapes;
  shapes.Add(Layout({0, 1}), Plans(1), kTree);
  std::vector<schedule::TeamNode> nodes = Layout({0, 1})->layout().nodes;
  nodes[1].worker_address = "";  // those that ask may not know it
  const KnownShapes::Known* const known = shapes.Find(nodes, Layout({0, 1})->layout().shape);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->plans->plans(), Plans(1)->plans());
  EXPECT_EQ(known->tree, kTree);
  EXPECT_EQ(known->layout->layout().nodes[1].worker_address, "a");
  EXPECT_NE(known->hash, 0u);
  EXPECT_EQ(shapes.Find(nodes, Layout({1, 0})->layout().shape), nullptr);
  EXPECT_EQ(shapes.Find(Layout({0, 1}, 20)->layout().nodes, Layout({0, 1})->layout().shape), nullptr);
}

TEST(KnownShapesTest, NewerPlansReplaceOlder) {
  KnownShapes shapes;
  shapes.Add(Layout({0, 1}), Plans(1), kTree);
  const uint64_t hash = shapes.Find(Layout({0, 1})->layout().nodes, Layout({0, 1})->layout().shape)->hash;
  shapes.Add(Layout({0, 1}), Plans(2), kTree);
  EXPECT_EQ(shapes.size(), 1u);
  EXPECT_NE(shapes.Find(Layout({0, 1})->layout().nodes, Layout({0, 1})->layout().shape)->hash, hash);
}

TEST(KnownShapesTest, EqualPlansAreKeptOnceAndCountAsUsed) {
  KnownShapes shapes;
  const auto plans = Plans(1);
  shapes.Add(Layout({0, 1}, 1), plans, kTree);
  for (uint64_t n = 1; n < KnownShapes::kMax; ++n) shapes.Add(Layout({0, 1}, 100 * n), Plans(1), kTree);
  shapes.Add(Layout({0, 1}, 1), Plans(1), kTree);
  EXPECT_EQ(shapes.size(), KnownShapes::kMax);
  shapes.Add(Layout({1, 0}, 1), Plans(1), kTree);  // takes the place of the one that was used first
  const KnownShapes::Known* const known =
      shapes.Find(Layout({0, 1}, 1)->layout().nodes, Layout({0, 1})->layout().shape);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->plans, plans);
  EXPECT_EQ(shapes.Find(Layout({0, 1}, 100)->layout().nodes, Layout({0, 1})->layout().shape), nullptr);
}

TEST(KnownShapesTest, KeepsThoseThatWereUsedLast) {
  KnownShapes shapes;
  shapes.Add(Layout({0, 1}, 1), Plans(1), kTree);
  for (uint64_t n = 0; n < KnownShapes::kMax; ++n) {
    EXPECT_NE(shapes.Find(Layout({0, 1}, 1)->layout().nodes, Layout({0, 1})->layout().shape), nullptr);
    shapes.Add(Layout({0, 1}, 100 * (n + 1)), Plans(1), kTree);
  }
  EXPECT_EQ(shapes.size(), KnownShapes::kMax);
  EXPECT_EQ(shapes.Find(Layout({0, 1}, 100)->layout().nodes, Layout({0, 1})->layout().shape), nullptr);
}

}  // namespace
}  // namespace copse::daemon
