// SPDX-License-Identifier: Apache-2.0
#include "schedule/verify.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "schedule/testing/sample_plans.h"

namespace copse::schedule {
namespace {

using testing::FailsWith;
using testing::IsOk;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Executes a tree plan for every root: VerifyPlan proves the same by structure alone.
void ExpectExecutes(const Plan& plan, const TeamShape& shape) {
  for (uint32_t root = 0; root < (HasRoot(plan.collective) ? shape.size() : 1); ++root) {
    const CallArguments call{
        .collective = plan.collective, .count = std::min<uint64_t>(plan.bytes_max, 8), .root = root};
    EXPECT_THAT(VerifyExecution(plan, shape, call), IsOk());
  }
}

TEST(VerifyTest, AcceptsTreesOfEveryCollectiveAndTheyExecuteFromEveryRoot) {
  for (uint32_t n = 1; n <= 24; ++n) {
    for (int c = 0; c < kCommonCollectiveCount; ++c) {
      const Plan plan = RandomTreePlan(static_cast<Collective>(c), n, n * 10 + c);
      const TeamShape shape = BlockShape(n, 1 + n % 3);
      ASSERT_TRUE(VerifyPlan(plan, shape).ok()) << VerifyPlan(plan, shape);
      ExpectExecutes(plan, shape);
    }
  }
}

TEST(VerifyTest, AcceptsExchanges) {
  std::vector<Plan> plans;
  for (uint32_t n = 1; n <= 40; ++n) plans.push_back(DisseminationPlan(n));
  for (uint32_t n = 1; n <= 64; n *= 2) plans.push_back(DoublingPlan(n, 120));
  for (uint32_t n = 1; n <= kRoundPartnersMax + 1; ++n) plans.push_back(AllToAllPlan(n, 120));
  for (const Plan& plan : plans) {
    EXPECT_THAT(VerifyPlan(plan, BlockShape(plan.node_count, 2)), IsOk());
  }
}

TEST(VerifyTest, AlltoallsArePassedOnOnlyWhereAllKnowTheSizes) {
  const auto doubling = [](uint32_t n, uint64_t bytes_max) {
    Plan plan = CirculantPlan(Collective::kAlltoall, n, Distances("doubling", n));
    plan.bytes_max = bytes_max;
    return plan;
  };
  for (const uint32_t n : {1u, 2u, 3u, 4u, 9u, 64u, kPassingNodesMax}) {
    EXPECT_TRUE(VerifyPlan(doubling(n, 1024), BlockShape(n, 1)).ok()) << n;
    EXPECT_EQ(VerifyPlan(doubling(n, kMessageBytesMax), BlockShape(n, 1)).ok(), n <= 3) << n;
  }
  EXPECT_THAT(VerifyPlan(doubling(kPassingNodesMax + 1, 1024), BlockShape(kPassingNodesMax + 1, 1)),
              FailsWith(kInvalid, "plan 5", "nodes=2049", "limit=2048", "bytes=1024", "limit=65535"));
  Plan short_segments = doubling(128, 512);
  short_segments.segment_bytes = 64;
  EXPECT_THAT(VerifyPlan(short_segments, BlockShape(128, 1)), IsOk());
  short_segments.segment_bytes = 48;
  EXPECT_THAT(VerifyPlan(short_segments, BlockShape(128, 1)), FailsWith(kInvalid, "bytes=48", "needed=64"));
  Plan gap = doubling(9, 1024);
  gap.neighbors[1] = {1, 2, 8};
  EXPECT_FALSE(VerifyPlan(gap, BlockShape(9, 1)).ok());
}

// Runs from every root, or with every node as the owner of the segment.
TEST(VerifyTest, CyclesCarryMessagesOfTheCommonCollectives) {
  for (uint32_t n = 1; n <= 24; ++n) {
    for (const auto& [collective, doubles] : {std::pair{Collective::kBcast, false},
                                              {Collective::kReduce, false},
                                              {Collective::kAllreduce, false},
                                              {Collective::kAllreduce, true}}) {
      Prng prng(n);
      Plan plan = CirculantPlan(collective, n, Distances(doubles ? "doubling" : "ring", n), &prng);
      plan.bytes_max = kCallBytesMax;
      const TeamShape shape = BlockShape(n, 1 + n % 3);
      ASSERT_TRUE(VerifyPlan(plan, shape).ok()) << VerifyPlan(plan, shape);
      ExpectExecutes(plan, shape);
      for (uint32_t rotation = 0; rotation < RotationsOf(plan); ++rotation) {
        EXPECT_THAT(VerifyExecution(plan, shape, {.collective = collective, .count = 8}, rotation), IsOk());
      }
    }
  }
}

// A defect of a plan, and the text that the error must contain.
struct Broken {
  const char* name;
  const char* thing;
  std::function<void(Plan*)> breaks;
  bool exchange = false;
};

class BrokenPlanTest : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenPlanTest, IsRefusedWithTheReason) {
  const Broken& broken = GetParam();
  Plan plan = broken.exchange ? DisseminationPlan(6) : RandomTreePlan(Collective::kAllreduce, 6, 4);
  ASSERT_TRUE(VerifyPlan(plan, BlockShape(6, 1)).ok());
  broken.breaks(&plan);
  const absl::Status refused = VerifyPlan(plan, BlockShape(6, 1));
  EXPECT_THAT(refused, FailsWith(kInvalid, broken.thing));
}

const Broken kBroken[] = {
    {"NoNodes", "nodes=0", [](Plan* p) { p->node_count = 0; }},
    {"AnotherTeam", "nodes=7", [](Plan* p) { p->node_count = 7; }},
    {"TooManyNodes", "nodes=1048577", [](Plan* p) { p->node_count = kNodeCountMax + 1; }},
    {"SizeClassUpsideDown", "bytes=65537-65536", [](Plan* p) { p->bytes_min = p->bytes_max + 1; }},
    {"MessageTooLong", "bytes=0-70368744177665", [](Plan* p) { p->bytes_max = kCallBytesMax + 1; }},
    {"OddSegments", "bytes=1001", [](Plan* p) { p->segment_bytes = 1001; }},
    {"SegmentsThatCutAnElement", "bytes=61432", [](Plan* p) { p->segment_bytes = kSegmentBytesMax - 8; }},
    {"SegmentBeyondAFrame", "bytes=61448", [](Plan* p) { p->segment_bytes = kSegmentBytesMax + 8; }},
    {"Unsegmented", "bytes=65536", [](Plan* p) { p->segment_bytes = 0; }},
    {"TooManySegments", "segments=64", [](Plan* p) { p->segment_bytes = 1024; }},
    {"RootOutOfRange", "node=6", [](Plan* p) { p->root_node = NodeIndex(6); }},
    {"PredictedTimeIsNone", "predicted_us=nan",
     [](Plan* p) { p->predicted_us = std::numeric_limits<double>::quiet_NaN(); }},
    {"MissingList", "lists=5", [](Plan* p) { p->neighbors.pop_back(); }},
    {"TreeWithSteps", "nodes=6", [](Plan* p) { p->steps.resize(6); }},
    {"UnknownNeighbor", "node=6", [](Plan* p) { p->neighbors[5][0] = 6; }},
    {"OwnNeighbor", "node 5", [](Plan* p) { p->neighbors[5][0] = 5; }},
    {"NeighborTwice", "neighbor=0", [](Plan* p) { p->neighbors[5].push_back(p->neighbors[5][0]); }},
    {"OneSidedLink", "node 0",
     [](Plan* p) {
       const uint32_t parent = p->neighbors[5][0];
       std::erase(p->neighbors[parent], 5);
     }},
    {"Cycle", "limit=5",
     [](Plan* p) {
       p->neighbors = {{1, 5}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 0}};
     }},
    {"CycleAndOrphan", "reached=5",
     [](Plan* p) {
       p->neighbors = {{1, 2, 3}, {0, 2}, {0, 1}, {0, 4}, {3}, {}};
     }},
    {"ExchangeOfABcast", "bcast, dissemination", [](Plan* p) { p->collective = Collective::kBcast; }, true},
    {"ExchangeWithLinks", "lists=6", [](Plan* p) { p->neighbors.resize(6); }, true},
    {"MissingSteps", "lists=5", [](Plan* p) { p->steps.pop_back(); }, true},
    {"RoundZero", "round=0", [](Plan* p) { p->steps[2][0].round = 0; }, true},
    {"RoundsFall", "round=1", [](Plan* p) { std::swap(p->steps[2][0].round, p->steps[2][1].round); }, true},
    {"ReplacesWhatOthersBring", "round 1",
     [](Plan* p) {
       p->steps[2][1].round = 1;
       p->steps[2][1].combine = false;
     },
     true},
    {"TooManyPartners", "limit=6",
     [](Plan* p) {
       for (uint32_t i = 0; i < kRoundPartnersMax; ++i) p->steps[2].insert(p->steps[2].begin(), {1, kNobody, 3});
     },
     true},
    {"TooManySteps", "steps=13", [](Plan* p) { p->steps[2].resize(13, {4}); }, true},
    {"TwoOfOneRoundApart", "phase 2", [](Plan* p) { p->steps[2][1].round = 1; }, true},
    {"TooManyRounds", "round=44", [](Plan* p) { p->steps[2].back().round = kPhasesMax; }, true},
    {"BadPartner", "node=6", [](Plan* p) { p->steps[2][0].send_to = 6; }, true},
    {"OwnPartner", "node=2", [](Plan* p) { p->steps[2][0].receive_from = 2; }, true},
    {"NobodySends", "deadlock", [](Plan* p) { p->steps[2][0].send_to = kNobody; }, true},
    {"NobodyAwaits", "node 1", [](Plan* p) { p->steps[2][0].receive_from = kNobody; }, true},
    {"SentTwice", "node 3", [](Plan* p) { p->steps[2][1].send_to = p->steps[2][0].send_to; }, true},
    {"WrongPhase", "phase 4",
     [](Plan* p) {
       // Rounds still ascend, but node 2 sends in round 4 what its partner awaits in round 3.
       p->steps[2].back().round = 4;
     },
     true},
    // Dissemination does not add up unless n is a power of 2.
    {"CountedTwice", "node 1",
     [](Plan* p) {
       p->collective = Collective::kAllreduce;
       p->bytes_max = 120;
     },
     true},
    {"ARoundLeftOut", "of=4",
     [](Plan* p) {
       for (auto& steps : p->steps) steps.pop_back();
     },
     true},
};
INSTANTIATE_TEST_SUITE_P(Kinds, BrokenPlanTest, ::testing::ValuesIn(kBroken),
                         [](const ::testing::TestParamInfo<Broken>& info) { return info.param.name; });

// A fan-out that a port of the engine cannot have (cli/sim/cluster's tests run the greatest that it can).
TEST(VerifyTest, RefusesAFanOutBeyondAPortsEdges) {
  for (const uint32_t n : {kNeighborsMax + 1, kNeighborsMax + 2}) {
    const Plan plan = StarPlan(Collective::kBcast, n - 1);
    const absl::Status verified = VerifyPlan(plan, BlockShape(n, 1));
    if (n == kNeighborsMax + 1) {
      EXPECT_TRUE(verified.ok()) << verified;
    } else {
      EXPECT_THAT(verified, FailsWith(kInvalid, "node 0", "neighbors=4097", "limit=4096")) << verified;
    }
  }
}

// Changes a plan at random, in a way that may be harmless.
void Mutate(Plan* plan, Prng* prng) {
  const auto n = plan->node_count;
  const auto v = static_cast<uint32_t>(prng->Below(n));
  if (plan->kind == PlanKind::kTree) {
    auto& list = plan->neighbors[v];
    switch (prng->Below(5)) {
      case 0:
        list.push_back(static_cast<uint32_t>(prng->Below(n + 1)));
        break;
      case 1:
        if (!list.empty()) list.erase(list.begin() + prng->Below(list.size()));
        break;
      case 2:
        if (!list.empty()) list[prng->Below(list.size())] = static_cast<uint32_t>(prng->Below(n + 1));
        break;
      case 3:
        std::swap(list, plan->neighbors[prng->Below(n)]);
        break;
      default:
        plan->root_node = NodeIndex(static_cast<uint32_t>(prng->Below(n + 1)));
        break;
    }
    return;
  }
  auto& list = plan->steps[v];
  if (list.empty()) return;
  ExchangeStep& step = list[prng->Below(list.size())];
  switch (prng->Below(6)) {
    case 0:
      step.send_to = static_cast<uint32_t>(prng->Below(n + 1));
      break;
    case 1:
      step.receive_from = static_cast<uint32_t>(prng->Below(n + 1));
      break;
    case 2:
      step.round = static_cast<uint16_t>(prng->Below(8));
      break;
    case 3:
      list.pop_back();
      break;
    case 4:
      step.combine = !step.combine;
      break;
    default:
      std::swap(list, plan->steps[prng->Below(n)]);
      break;
  }
}

// Every plan that passes the verifier must execute, from every root; and most mutations must not pass.
TEST(VerifyTest, WhatPassesExecutesAmongThousandsOfMutations) {
  Prng prng(1);
  int passed = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto n = static_cast<uint32_t>(3 + prng.Below(10));
    Plan plan;
    switch (prng.Below(4)) {
      case 0:
        plan = RandomTreePlan(static_cast<Collective>(prng.Below(kCommonCollectiveCount)), n, prng.Next());
        break;
      case 1:
        plan = DisseminationPlan(n);
        break;
      case 2:
        plan = AllToAllPlan(3 + n % 5, 120);
        break;
      default:
        plan = DoublingPlan(n < 8 ? 4 : 8, 120);
        break;
    }
    const TeamShape shape = BlockShape(plan.node_count, 1 + i % 2);
    for (uint64_t changes = 1 + prng.Below(3); changes > 0; --changes) Mutate(&plan, &prng);
    if (!VerifyPlan(plan, shape).ok()) {
      ++refused;
      continue;
    }
    ++passed;
    ExpectExecutes(plan, shape);
    if (HasFailure()) FAIL() << "mutation " << i;
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(passed, 100) << "harmless ones: a moved root, another order";
}

// This holds for one node, too, which sends nothing: its sequences still follow its plan's kind.
TEST(VerifyTest, KindsThatDoNotCarryACollectiveAreRefused) {
  for (const uint32_t n : {1u, 4u}) {
    Plan cycle = CirculantPlan(Collective::kGather, n, Distances("ring", n));
    EXPECT_THAT(VerifyPlan(cycle, BlockShape(n, 1)), FailsWith(kInvalid, absl::StrCat("nodes=", n))) << n;
    cycle.collective = Collective::kAllgather;
    EXPECT_TRUE(VerifyPlan(cycle, BlockShape(n, 1)).ok()) << n;
    EXPECT_THAT(VerifyPlan(RandomTreePlan(Collective::kAlltoall, n, 1), BlockShape(n, 1)),
                FailsWith(kInvalid, "plan 1", "alltoall"))
        << n;
  }
}

TEST(VerifyPlansTest, PlansOfOneTreeAreEachChecked) {
  std::vector<Plan> plans;
  for (int c = 0; c < kCommonCollectiveCount; ++c) plans.push_back(RandomTreePlan(static_cast<Collective>(c), 5, 1));
  for (Plan& plan : plans) {
    plan.neighbors = plans[0].neighbors;
    plan.root_node = plans[0].root_node;
  }
  ASSERT_TRUE(HaveSameTree(plans[0], plans[1]));
  EXPECT_TRUE(VerifyPlans(plans, BlockShape(5, 1)).ok());
  std::vector<Plan> bad = plans;
  bad[1].segment_bytes = kSegmentUnitBytes + 1;
  EXPECT_THAT(VerifyPlans(bad, BlockShape(5, 1)), FailsWith(kInvalid, "segment", "plan"));
  bad = plans;
  bad[1].steps.resize(5);
  EXPECT_THAT(VerifyPlans(bad, BlockShape(5, 1)), FailsWith(kInvalid, "nodes=5"));
  bad = plans;
  bad[1].neighbors[0].clear();
  EXPECT_FALSE(HaveSameTree(bad[0], bad[1]));
  EXPECT_FALSE(VerifyPlans(bad, BlockShape(5, 1)).ok());
}

TEST(VerifyPlansTest, EverySizeOfEveryCollectiveHasAPlan) {
  std::vector<Plan> plans;
  for (int c = 0; c < kCommonCollectiveCount; ++c) plans.push_back(RandomTreePlan(static_cast<Collective>(c), 4, c));
  EXPECT_TRUE(VerifyPlans(plans, BlockShape(4, 1)).ok());
  std::vector<Plan> gap = plans;
  gap[1].bytes_max = 119;
  EXPECT_THAT(VerifyPlans(gap, BlockShape(4, 1)), FailsWith(kInvalid, "plans", "collective=bcast", "bytes=120"));
  plans.pop_back();
  EXPECT_FALSE(VerifyPlans(plans, BlockShape(4, 1)).ok());
}

}  // namespace
}  // namespace copse::schedule
