// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/hierarchical_exchange.h"

#include <set>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "collectives/collective.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/exchange_properties.h"
#include "planner/algorithms/testing/random_costs.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using schedule::ExchangeStep;
using schedule::kNobody;
using ::testing::ElementsAre;
using testing::FailsWith;

// Builds a cluster of `groups` switches below a top switch; a link to the top takes 1000, a link to a node 10,
// overheads are 1. `sizes` gives the nodes of each switch, numbered consecutively.
BroadcastCosts Sites(const std::vector<uint32_t>& sizes) {
  CostTree tree;
  uint32_t n = 0;
  for (const uint32_t size : sizes) n += size;
  for (uint32_t g = 0; g < sizes.size(); ++g) tree.parent.insert(tree.parent.end(), sizes[g], n + 1 + g);
  tree.latency_ns.assign(n, 10);
  tree.parent.push_back(topology::kNoParent);
  tree.latency_ns.push_back(0);
  for (size_t g = 0; g < sizes.size(); ++g) {
    tree.parent.push_back(n);
    tree.latency_ns.push_back(1000);
  }
  tree.bandwidth_bytes_per_s.assign(tree.parent.size(), 1'000'000'000);
  const std::vector<int64_t> overheads(n, 1);
  return BroadcastCosts::FromTree(tree, overheads, overheads, 1).value();
}

TEST(GroupsOfTest, NodesPartAtTheDeepestVertexAboveAll) {
  EXPECT_THAT(GroupsOf(Sites({2, 1, 2})), ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3, 4)));
  EXPECT_THAT(GroupsOf(Sites({3})), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(GroupsOf(Sites({1})), ElementsAre(ElementsAre(0)));
  // Nodes 1 and 3 are on the top switch, the others on a switch below it.
  const std::vector<int64_t> overheads(4, 1);
  const auto costs = BroadcastCosts::FromTree({.parent = {5, 4, 5, 4, topology::kNoParent, 4},
                                               .latency_ns = std::vector<int64_t>(6, 10),
                                               .bandwidth_bytes_per_s = std::vector<int64_t>(6, 1'000'000'000)},
                                              overheads, overheads, 1)
                         .value();
  EXPECT_THAT(GroupsOf(costs), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

// Computed by hand: 0 leads {0, 1}, 2 leads itself and 3 leads {3, 4}.
TEST(BuildHierarchicalExchangeTest, LeadersTellEachOtherInOneRound) {
  const auto steps = BuildHierarchicalExchange(Sites({2, 1, 2})).value();
  const std::vector<ExchangeStep> leader = {{.round = 1, .receive_from = 1},
                                            {.round = 2, .send_to = 2, .receive_from = 3},
                                            {.round = 2, .send_to = 3, .receive_from = 2},
                                            {.round = 3, .send_to = 1}};
  EXPECT_EQ(steps[0], leader);
  const std::vector<ExchangeStep> follower = {{.round = 1, .send_to = 0},
                                              {.round = 3, .receive_from = 0, .combine = false}};
  EXPECT_EQ(steps[1], follower);
  const std::vector<ExchangeStep> alone = {{.round = 2, .send_to = 3, .receive_from = 0},
                                           {.round = 2, .send_to = 0, .receive_from = 3}};
  EXPECT_EQ(steps[2], alone);
}

TEST(BuildHierarchicalExchangeTest, ManyLeadersDoubleRecursively) {
  const auto steps =
      BuildHierarchicalExchange(Sites(std::vector<uint32_t>(schedule::kRoundPartnersMax + 2, 1))).value();
  const std::vector<ExchangeStep> first = {{.round = 1, .send_to = 1, .receive_from = 1},
                                           {.round = 2, .send_to = 2, .receive_from = 2},
                                           {.round = 3, .send_to = 4, .receive_from = 4}};
  EXPECT_EQ(steps[0], first);
}

TEST(BuildHierarchicalExchangeTest, EverybodyGetsEachContributionOnceAndGroupsArePartedOnce) {
  Prng prng(1);
  uint32_t several = 0;
  for (int i = 0; i < 400; ++i) {
    const BroadcastCosts costs = RandomTreeCosts(prng, 60);
    const auto steps = BuildHierarchicalExchange(costs).value();
    for (const auto collective : {Collective::kBarrier, Collective::kAllreduce}) {
      const absl::Status verified = VerifyExchange(steps, collective);
      ASSERT_TRUE(verified.ok()) << verified << ", cluster " << i;
    }
    // Every node that communicates with another group is its group's leader.
    const auto groups = GroupsOf(costs);
    std::vector<size_t> group_of(costs.node_count());
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const uint32_t v : groups[g]) group_of[v] = g;
    }
    std::vector<std::set<uint32_t>> leaders(groups.size());
    for (uint32_t v = 0; v < steps.size(); ++v) {
      for (const ExchangeStep& step : steps[v]) {
        if (step.send_to != kNobody && group_of[step.send_to] != group_of[v]) leaders[group_of[v]].insert(v);
      }
    }
    for (const auto& of_group : leaders) EXPECT_EQ(of_group.size(), groups.size() > 1 ? 1u : 0u) << "cluster " << i;
    several += groups.size() > 1 && groups.size() < costs.node_count();
  }
  EXPECT_GT(several, 100u);
}

TEST(BuildHierarchicalExchangeTest, RefusesWhatNoExchangeCanBe) {
  EXPECT_THAT(BuildHierarchicalExchange(Sites({schedule::kExchangeNodesMax + 1})),
              FailsWith(absl::StatusCode::kInvalidArgument, "hierarchical", "nodes=4097", "limit=4096"));
}

}  // namespace
}  // namespace copse::planner
