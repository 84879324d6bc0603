// SPDX-License-Identifier: Apache-2.0
#include "planner/structure.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/topology/topology.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

NodeOrder Identity(uint32_t n) {
  NodeOrder order(n);
  for (uint32_t v = 0; v < n; ++v) order[v] = v;
  return order;
}

TEST(BuildStructureTest, KnowsEveryAlgorithmByName) {
  for (const std::string name : {"flat", "chain", "binomial", "knomial-2", "knomial-12", "kary-2", "kary-31"}) {
    const auto structure = BuildStructure(name, {3, 1, 0, 2}).value();
    EXPECT_EQ(structure.algorithm, name);
    EXPECT_EQ(structure.kind, schedule::PlanKind::kTree);
    EXPECT_EQ(structure.root_node, NodeIndex(3));
    EXPECT_EQ(structure.neighbors.size(), 4u);
    for (int c = 0; c < kCommonCollectiveCount; ++c) EXPECT_TRUE(CanCarry(structure, static_cast<Collective>(c)));
  }
  for (const std::string name : {"dissemination", "recursive-doubling"}) {
    const auto structure = BuildStructure(name, Identity(5)).value();
    EXPECT_EQ(structure.kind, schedule::PlanKind::kExchange);
    EXPECT_EQ(structure.steps.size(), 5u);
    EXPECT_TRUE(CanCarry(structure, Collective::kBarrier));
    EXPECT_EQ(CanCarry(structure, Collective::kAllreduce), name == "recursive-doubling");
    EXPECT_FALSE(CanCarry(structure, Collective::kBcast));
    EXPECT_FALSE(CanCarry(structure, Collective::kReduce));
  }
}

TEST(BuildStructureTest, CyclesCarryWhatTheyAreFor) {
  const auto carried = [](const std::string& name) {
    std::vector<std::string> names;
    const auto structure = BuildStructure(name, {3, 1, 0, 2, 4}).value();
    EXPECT_EQ(structure.kind, schedule::PlanKind::kCirculant);
    for (int c = 0; c < kCollectiveCount; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (PlanCollective(collective) == collective && CanCarry(structure, collective)) {
        names.emplace_back(CollectiveName(collective));
      }
    }
    return names;
  };
  EXPECT_THAT(carried("ring"),
              ElementsAre("bcast", "reduce", "allreduce", "allgather", "reduce_scatter", "scan", "exscan"));
  EXPECT_THAT(carried("bruck"), ElementsAre("allgather", "alltoall"));
  EXPECT_THAT(carried("doubling"), ElementsAre("scan", "exscan"));
  EXPECT_THAT(carried("rotated-binomial"), ElementsAre("allreduce", "reduce_scatter"));
  EXPECT_THAT(carried("pairwise"), ElementsAre("alltoall"));
  const auto ring = BuildStructure("ring", {3, 1, 0, 2});
  EXPECT_EQ(ring->root_node, NodeIndex(3));
  EXPECT_EQ(MostNeighbors(*ring), 2u);
  EXPECT_THAT(UndirectedEdges(*ring), ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 3), Pair(2, 3)));
  EXPECT_EQ(MostNeighbors(*BuildStructure("pairwise", Identity(5))), 8u);
  EXPECT_FALSE(BuildStructure("ring", {0, 0}).ok());
}

TEST(BuildByCostTest, HierarchicalIsAnExchangeForWhatHasNoRoot) {
  const CostTree tree = {.parent = {6, 7, 6, 7, 6, topology::kNoParent, 5, 5},
                         .latency_ns = std::vector<int64_t>(8, 100'000),
                         .bandwidth_bytes_per_s = std::vector<int64_t>(8, 1'000'000'000)};
  const std::vector<int64_t> overheads(5, 2'000);
  const auto costs = BroadcastCosts::FromTree(tree, overheads, overheads, 120).value();
  EXPECT_TRUE(IsByCost("hierarchical"));
  const auto structure = BuildByCost("hierarchical", costs, 3).value();
  EXPECT_EQ(structure.kind, schedule::PlanKind::kExchange);
  EXPECT_EQ(structure.root_node, NodeIndex(3));
  EXPECT_EQ(UndirectedEdges(structure).size(), 4u);
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    EXPECT_EQ(CanCarry(structure, collective), !HasRoot(collective));
    EXPECT_EQ(CheckAlgorithm("hierarchical", collective).ok(), !HasRoot(collective));
  }
}

TEST(BuildByCostTest, TreesSpanAndBestIsTheFastest) {
  // Nodes alternate between two far racks.
  const CostTree tree = {.parent = {13, 14, 13, 14, 13, 14, 13, 14, 13, 14, 13, 14, topology::kNoParent, 12, 12},
                         .latency_ns = std::vector<int64_t>(15, 100'000),
                         .bandwidth_bytes_per_s = std::vector<int64_t>(15, 1'000'000'000)};
  const std::vector<int64_t> overheads(12, 2'000);
  const auto costs = BroadcastCosts::FromTree(tree, overheads, overheads, 120).value();
  const int64_t best = TreeOfNeighbors(costs, 3, BuildByCost("best", costs, 3)->neighbors).completion_ns;
  for (const std::string name : {"ft", "bt", "fnf", "fef-latency", "fef-cost", "fef", "fcef", "fcef-bhat", "la",
                                 "la-bhat", "mgo", "mgo-jackson", "best", "pipeline-1", "pipeline-3"}) {
    EXPECT_TRUE(IsByCost(name));
    for (int c = 0; c < kCommonCollectiveCount; ++c) {
      EXPECT_TRUE(CheckAlgorithm(name, static_cast<Collective>(c)).ok());
    }
    const auto structure = BuildByCost(name, costs, 3).value();
    EXPECT_EQ(structure.algorithm, name);
    EXPECT_EQ(structure.root_node, NodeIndex(3));
    EXPECT_EQ(UndirectedEdges(structure).size(), 11u);
    EXPECT_LE(best, TreeOfNeighbors(costs, 3, structure.neighbors).completion_ns) << name;
  }
  for (const std::string name : {"flat", "MGO", "pipeline-0", "pipeline", "bush"}) {
    EXPECT_FALSE(IsByCost(name));
    EXPECT_THAT(BuildByCost(name, costs, 3), FailsWith(kInvalid, absl::StrCat("name=", name)));
  }
  EXPECT_THAT(BuildByCost("optimal", costs, 3), FailsWith(kInvalid, "nodes=12"));
  EXPECT_THAT(CheckAlgorithm("bush", Collective::kBcast), FailsWith(kInvalid, "algorithm", "name=bush"));
  EXPECT_THAT(CheckAlgorithm("recursive-doubling", Collective::kBcast), FailsWith(kInvalid, "collective=bcast"));
}

TEST(BuildStructureTest, TwoNomialIsBinomial) {
  for (uint32_t n = 1; n <= 64; ++n) {
    EXPECT_EQ(BuildStructure("knomial-2", Identity(n))->neighbors, BuildStructure("binomial", Identity(n))->neighbors);
  }
}

TEST(BuildStructureTest, RefusesOtherNamesAndWhatTheAlgorithmRefuses) {
  for (const std::string name : {"", "Flat", "flat ", "knomial", "knomial-", "knomial-04", "knomial-+4", "knomial-4x",
                                 "knomial-99999999999", "kary--2", "binomial-2"}) {
    EXPECT_THAT(BuildStructure(name, Identity(3)), FailsWith(kInvalid, absl::StrCat("name=", name)));
  }
  EXPECT_THAT(BuildStructure("knomial-1", Identity(3)), FailsWith(kInvalid, "k=1"));
  EXPECT_THAT(BuildStructure("knomial-0", Identity(3)), FailsWith(kInvalid, "algorithm", "name=knomial-0"));
  EXPECT_THAT(BuildStructure("kary-1", Identity(3)), FailsWith(kInvalid, "k=1"));
  for (const std::string name : {"flat", "binomial", "kary-2", "knomial-3", "dissemination", "recursive-doubling"}) {
    EXPECT_THAT(BuildStructure(name, {}), FailsWith(kInvalid, "nodes=0"));
  }
  EXPECT_THAT(BuildStructure("dissemination", Identity(4097)),
              FailsWith(kInvalid, "dissemination", "nodes=4097", "limit=4096"));
}

TEST(UndirectedEdgesTest, NamesEachPairOnce) {
  EXPECT_THAT(UndirectedEdges(*BuildStructure("flat", {1, 0, 2})), ElementsAre(Pair(0, 1), Pair(1, 2)));
  EXPECT_THAT(UndirectedEdges(*BuildStructure("recursive-doubling", Identity(4))),
              ElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 3), Pair(2, 3)));
  EXPECT_THAT(UndirectedEdges(*BuildStructure("dissemination", Identity(2))), ElementsAre(Pair(0, 1)));
  EXPECT_THAT(UndirectedEdges(*BuildStructure("flat", {0})), ElementsAre());
}

TEST(PlanEdgesTest, DirectsTreesFromTheirRoot) {
  Structure plan = *BuildStructure("binomial", Identity(4));
  EXPECT_THAT(PlanEdges(plan), ElementsAre(Pair(0, 2), Pair(0, 1), Pair(2, 3)));
  plan.root_node = NodeIndex(3);
  EXPECT_THAT(PlanEdges(plan), ElementsAre(Pair(3, 2), Pair(2, 0), Pair(0, 1)));
  EXPECT_THAT(PlanEdges(schedule::Plan()), ElementsAre());
}

TEST(PlanEdgesTest, ListsWhatExchangesSend) {
  EXPECT_THAT(PlanEdges(*BuildStructure("recursive-doubling", Identity(3))),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(1, 0), Pair(2, 1)));
}

}  // namespace
}  // namespace copse::planner
