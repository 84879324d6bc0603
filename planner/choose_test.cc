// SPDX-License-Identifier: Apache-2.0
#include "planner/choose.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;

// The structures over 4 nodes are a star, a chain, and one that shares two edges with the star.
const std::vector<EdgeList> kEdges = {{{0, 1}, {0, 2}, {0, 3}}, {{0, 1}, {1, 2}, {2, 3}}, {{0, 1}, {0, 2}, {2, 3}}};

TEST(ChoosePlanSetTest, WithoutBiasTheCheapestWins) {
  const std::vector<Slot> slots = {{{0, 100}, {1, 99}, {2, 101}}, {{0, 50}, {1, 60}, {2, 49}}};
  const auto chosen = ChoosePlanSet(slots, kEdges, 4, {.edge_bias = 0}).value();
  EXPECT_THAT(chosen, ElementsAre(1, 2));
}

TEST(ChoosePlanSetTest, BiasPrefersEdgesThatAreThere) {
  const std::vector<Slot> slots = {{{0, 100}, {1, 99}}, {{0, 100}, {1, 110}}, {{0, 100}, {1, 110}}};
  const auto chosen = ChoosePlanSet(slots, kEdges, 4, {.edge_bias = 0.05}).value();
  EXPECT_THAT(chosen, ElementsAre(0, 0, 0)) << "one percent is not worth two more edges";
}

TEST(ChoosePlanSetTest, ClearlyFasterIsWorthNewEdges) {
  const std::vector<Slot> slots = {{{0, 100}, {1, 50}}, {{0, 100}, {1, 200}}};
  EXPECT_THAT(*ChoosePlanSet(slots, kEdges, 4, {.edge_bias = 0.05}), ElementsAre(1, 0));
}

TEST(ChoosePlanSetTest, TiesGoToTheFirst) {
  const std::vector<Slot> slots = {{{0, 100}, {1, 100}, {2, 100}}};
  EXPECT_THAT(*ChoosePlanSet(slots, kEdges, 4, {}), ElementsAre(0));
}

TEST(ChoosePlanSetTest, KeepsToTheLimitOfNeighbors) {
  const std::vector<Slot> slots = {{{0, 1}, {1, 100}, {2, 50}}, {{0, 1}, {1, 100}, {2, 200}}};
  EXPECT_THAT(*ChoosePlanSet(slots, kEdges, 4, {.edges_max = 2}),
              ElementsAre(1, 1));  // together structures 2 and 1 need 3 neighbors at node 2
  EXPECT_THAT(*ChoosePlanSet(slots, kEdges, 4, {.edges_max = 3}), ElementsAre(0, 0));
  const auto none = ChoosePlanSet(slots, kEdges, 4, {.edges_max = 1});
  EXPECT_THAT(none, FailsWith(absl::StatusCode::kResourceExhausted, "nodes=4", "limit=1"));
}

TEST(ChoosePlanSetTest, ASlotThatFitsNoAnchorIsRefused) {
  // Each slot alone stays within two neighbors, both together exceed them.
  const std::vector<Slot> slots = {{{1, 1}}, {{2, 1}}};
  EXPECT_EQ(ChoosePlanSet(slots, kEdges, 4, {.edges_max = 2}).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ChoosePlanSetTest, OneNodeNeedsNoEdges) {
  EXPECT_THAT(*ChoosePlanSet({{{0, 7}}}, {{}}, 1, {.edges_max = 0}), ElementsAre(0));
}

}  // namespace
}  // namespace copse::planner
