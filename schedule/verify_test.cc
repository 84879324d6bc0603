// SPDX-License-Identifier: Apache-2.0
#include "schedule/verify.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/prng.h"
#include "gtest/gtest.h"
#include "schedule/sample_plans.h"

namespace copse::schedule {
namespace {

// Every root of a tree, executed: what VerifyPlan proves by structure alone.
void ExpectExecutes(const Plan& plan, const TeamShape& shape) {
  for (uint32_t root = 0; root < (HasRoot(plan.collective) ? shape.size() : 1); ++root) {
    const CallArguments call{
        .collective = plan.collective, .count = std::min<uint64_t>(plan.bytes_max, 8), .root = root};
    const absl::Status executed = VerifyExecution(plan, shape, call);
    EXPECT_TRUE(executed.ok()) << executed;
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
  for (uint32_t n = 1; n <= 40; ++n) {
    const absl::Status verified = VerifyPlan(DisseminationPlan(n), BlockShape(n, 2));
    EXPECT_TRUE(verified.ok()) << verified;
  }
  for (uint32_t n = 1; n <= 64; n *= 2) {
    const absl::Status verified = VerifyPlan(DoublingPlan(n, 120), BlockShape(n, 2));
    EXPECT_TRUE(verified.ok()) << verified;
  }
  for (uint32_t n = 1; n <= kRoundPartnersMax + 1; ++n) {
    const absl::Status verified = VerifyPlan(AllToAllPlan(n, 120), BlockShape(n, 2));
    EXPECT_TRUE(verified.ok()) << verified;
  }
}

TEST(VerifyTest, AlltoallsArePassedOnOnlyWhereAllKnowTheSizes) {
  const auto doubling = [](uint32_t n, uint64_t bytes_max) {
    Plan plan{.id = PlanId(5),
              .collective = Collective::kAlltoall,
              .bytes_max = bytes_max,
              .algorithm = "bruck",
              .kind = PlanKind::kCirculant,
              .node_count = n,
              .segment_bytes = kSegmentBytesMax};
    plan.neighbours.resize(2);
    for (uint32_t v = 0; v < n; ++v) plan.neighbours[0].push_back(v);
    for (uint32_t d = 1; d < n; d *= 2) plan.neighbours[1].push_back(d);
    return plan;
  };
  for (const uint32_t n : {1u, 2u, 3u, 4u, 9u, 64u, kPassingNodesMax}) {
    EXPECT_TRUE(VerifyPlan(doubling(n, 1024), BlockShape(n, 1)).ok()) << n;
    EXPECT_EQ(VerifyPlan(doubling(n, kMessageBytesMax), BlockShape(n, 1)).ok(), n <= 3) << n;
  }
  EXPECT_EQ(VerifyPlan(doubling(kPassingNodesMax + 1, 1024), BlockShape(kPassingNodesMax + 1, 1)).message(),
            "plan 5 (alltoall, bruck): blocks are passed on in small teams and of small blocks only (nodes=2049, "
            "limit=2048, bytes=1024, limit=65535)");
  Plan gap = doubling(9, 1024);
  gap.neighbours[1] = {1, 2, 8};
  EXPECT_FALSE(VerifyPlan(gap, BlockShape(9, 1)).ok());
}

// From every root, or with every node as the owner of the segment.
TEST(VerifyTest, CyclesCarryMessagesOfTheCommonCollectives) {
  for (uint32_t n = 1; n <= 24; ++n) {
    for (const auto& [collective, doubles] : {std::pair{Collective::kBcast, false},
                                              {Collective::kReduce, false},
                                              {Collective::kAllreduce, false},
                                              {Collective::kAllreduce, true}}) {
      Plan plan = RandomTreePlan(collective, n, n);
      plan.kind = PlanKind::kCirculant;
      plan.bytes_max = kCallBytesMax;
      plan.neighbours.assign(2, {});
      for (uint32_t p = 0; p < n; ++p) plan.neighbours[0].push_back(n % 7 == 0 ? p : (p * 7 + 3) % n);
      for (uint32_t d = 1; d < n && (doubles || d == 1); d *= 2) plan.neighbours[1].push_back(d);
      const TeamShape shape = BlockShape(n, 1 + n % 3);
      ASSERT_TRUE(VerifyPlan(plan, shape).ok()) << VerifyPlan(plan, shape);
      ExpectExecutes(plan, shape);
      for (uint32_t rotation = 0; rotation < RotationsOf(plan); ++rotation) {
        const absl::Status executed = VerifyExecution(plan, shape, {.collective = collective, .count = 8}, rotation);
        EXPECT_TRUE(executed.ok()) << executed;
      }
    }
  }
}

// One way each to be broken, and the word that the refusal must say.
struct Broken {
  const char* name;
  const char* word;
  std::function<void(Plan*)> breaks;
  bool exchange = false;
};

class BrokenPlanTest : public testing::TestWithParam<Broken> {};

TEST_P(BrokenPlanTest, IsRefusedWithTheReason) {
  const Broken& broken = GetParam();
  Plan plan = broken.exchange ? DisseminationPlan(6) : RandomTreePlan(Collective::kAllreduce, 6, 4);
  ASSERT_TRUE(VerifyPlan(plan, BlockShape(6, 1)).ok());
  broken.breaks(&plan);
  const absl::Status refused = VerifyPlan(plan, BlockShape(6, 1));
  ASSERT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << broken.name;
  EXPECT_NE(refused.message().find(broken.word), absl::string_view::npos) << refused;
}

const Broken kBroken[] = {
    {"NoNodes", "nodes", [](Plan* p) { p->node_count = 0; }},
    {"AnotherTeam", "another team", [](Plan* p) { p->node_count = 7; }},
    {"TooManyNodes", "limit", [](Plan* p) { p->node_count = kNodeCountMax + 1; }},
    {"SizeClassUpsideDown", "size class", [](Plan* p) { p->bytes_min = p->bytes_max + 1; }},
    {"MessageTooLong", "size class", [](Plan* p) { p->bytes_max = kCallBytesMax + 1; }},
    {"OddSegments", "segment size", [](Plan* p) { p->segment_bytes = 1001; }},
    {"SegmentsThatCutAnElement", "multiple of 16", [](Plan* p) { p->segment_bytes = kSegmentBytesMax - 8; }},
    {"SegmentBeyondAFrame", "segment size", [](Plan* p) { p->segment_bytes = kSegmentBytesMax + 8; }},
    {"Unsegmented", "unsegmented", [](Plan* p) { p->segment_bytes = 0; }},
    {"TooManySegments", "segments", [](Plan* p) { p->segment_bytes = 1024; }},
    {"RootOutOfRange", "root", [](Plan* p) { p->root_node = NodeIndex(6); }},
    {"PredictedTimeIsNone", "predicted", [](Plan* p) { p->predicted_us = std::numeric_limits<double>::quiet_NaN(); }},
    {"MissingList", "neighbour lists", [](Plan* p) { p->neighbours.pop_back(); }},
    {"TreeWithSteps", "exchange steps", [](Plan* p) { p->steps.resize(6); }},
    {"UnknownNeighbour", "unknown neighbour", [](Plan* p) { p->neighbours[5][0] = 6; }},
    {"OwnNeighbour", "own neighbour", [](Plan* p) { p->neighbours[5][0] = 5; }},
    {"NeighbourTwice", "twice", [](Plan* p) { p->neighbours[5].push_back(p->neighbours[5][0]); }},
    {"OneSidedLink", "other way round",
     [](Plan* p) {
       const uint32_t parent = p->neighbours[5][0];
       std::erase(p->neighbours[parent], 5);
     }},
    {"Cycle", "not a tree",
     [](Plan* p) {
       // Two nodes that are not linked yet.
       for (uint32_t a = 0; a < 6; ++a) {
         for (uint32_t b = a + 1; b < 6; ++b) {
           if (std::find(p->neighbours[a].begin(), p->neighbours[a].end(), b) != p->neighbours[a].end()) continue;
           p->neighbours[a].push_back(b);
           p->neighbours[b].push_back(a);
           return;
         }
       }
     }},
    {"CycleAndOrphan", "not connected",
     [](Plan* p) {
       p->neighbours = {{1, 2, 3}, {0, 2}, {0, 1}, {0, 4}, {3}, {}};
     }},
    {"ExchangeOfABcast", "cannot carry", [](Plan* p) { p->collective = Collective::kBcast; }, true},
    {"ExchangeWithLinks", "tree links", [](Plan* p) { p->neighbours.resize(6); }, true},
    {"MissingSteps", "step lists", [](Plan* p) { p->steps.pop_back(); }, true},
    {"RoundZero", "ascend", [](Plan* p) { p->steps[2][0].round = 0; }, true},
    {"RoundsFall", "ascend", [](Plan* p) { std::swap(p->steps[2][0].round, p->steps[2][1].round); }, true},
    {"ReplacesWhatOthersBring", "replaces",
     [](Plan* p) {
       p->steps[2][1].round = 1;
       p->steps[2][1].combine = false;
     },
     true},
    {"TooManyPartners", "too many partners",
     [](Plan* p) {
       for (uint32_t i = 0; i < kRoundPartnersMax; ++i) p->steps[2].insert(p->steps[2].begin(), {1, kNobody, 3});
     },
     true},
    {"TooManySteps", "too many steps", [](Plan* p) { p->steps[2].resize(13, {4}); }, true},
    {"TwoOfOneRoundApart", "phase", [](Plan* p) { p->steps[2][1].round = 1; }, true},
    {"TooManyRounds", "rounds", [](Plan* p) { p->steps[2].back().round = kPhasesMax; }, true},
    {"BadPartner", "partner", [](Plan* p) { p->steps[2][0].send_to = 6; }, true},
    {"OwnPartner", "partner", [](Plan* p) { p->steps[2][0].receive_from = 2; }, true},
    {"NobodySends", "deadlock", [](Plan* p) { p->steps[2][0].send_to = kNobody; }, true},
    {"NobodyAwaits", "does not await", [](Plan* p) { p->steps[2][0].receive_from = kNobody; }, true},
    {"SentTwice", "twice", [](Plan* p) { p->steps[2][1].send_to = p->steps[2][0].send_to; }, true},
    {"WrongPhase", "phase",
     [](Plan* p) {
       // Still ascending, but node 2 sends in round 4 what its partner awaits in round 3.
       p->steps[2].back().round = 4;
     },
     true},
    {"ARoundLeftOut", "before all have entered",
     [](Plan* p) {
       for (auto& steps : p->steps) steps.pop_back();
     },
     true},
};
INSTANTIATE_TEST_SUITE_P(Kinds, BrokenPlanTest, testing::ValuesIn(kBroken),
                         [](const testing::TestParamInfo<Broken>& info) { return info.param.name; });

// What a port of the engine cannot have (cli/sim/cluster's tests run the greatest that it can).
TEST(VerifyTest, RefusesAFanOutBeyondAPortsEdges) {
  for (const uint32_t n : {kNeighboursMax + 1, kNeighboursMax + 2}) {
    Plan plan = RandomTreePlan(Collective::kBcast, n, 1);
    for (uint32_t v = 0; v < n; ++v) plan.neighbours[v] = {0};
    plan.neighbours[0].clear();
    for (uint32_t v = 1; v < n; ++v) plan.neighbours[0].push_back(v);
    plan.root_node = NodeIndex(0);
    const absl::Status verified = VerifyPlan(plan, BlockShape(n, 1));
    if (n == kNeighboursMax + 1) {
      EXPECT_TRUE(verified.ok()) << verified;
    } else {
      EXPECT_NE(verified.message().find("fan-out of node 0 (neighbours=4097, limit=4096)"), absl::string_view::npos)
          << verified;
    }
  }
}

// An exchange of an allreduce in which a contribution is counted twice: dissemination does not add up unless n is a
// power of 2.
TEST(VerifyTest, RefusesAContributionCountedTwice) {
  Plan plan = DisseminationPlan(6);
  plan.collective = Collective::kAllreduce;
  plan.bytes_max = 120;
  const absl::Status refused = VerifyPlan(plan, BlockShape(6, 1));
  EXPECT_NE(refused.message().find("exactly once"), absl::string_view::npos) << refused;
}

// Changes a plan at random, in a way that may be harmless.
void Mutate(Plan* plan, Prng* prng) {
  const auto n = plan->node_count;
  const auto v = static_cast<uint32_t>(prng->Below(n));
  if (plan->kind == PlanKind::kTree) {
    auto& list = plan->neighbours[v];
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
        std::swap(list, plan->neighbours[prng->Below(n)]);
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

// Whatever the verifier lets pass must execute, from every root; and most mutations must not pass.
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

// Also for one node, which sends nothing: its sequences are those of its plan's kind all the same.
TEST(VerifyTest, KindsThatDoNotCarryACollectiveAreRefused) {
  for (const uint32_t n : {1u, 4u}) {
    Plan cycle = RandomTreePlan(Collective::kGather, n, 1);
    cycle.kind = PlanKind::kCirculant;
    cycle.neighbours = {{}, {}};
    for (uint32_t v = 0; v < n; ++v) cycle.neighbours[0].push_back(v);
    if (n > 1) cycle.neighbours[1] = {1};
    EXPECT_NE(VerifyPlan(cycle, BlockShape(n, 1)).message().find("do not carry it"), absl::string_view::npos) << n;
    cycle.collective = Collective::kAllgather;
    EXPECT_TRUE(VerifyPlan(cycle, BlockShape(n, 1)).ok()) << n;
    EXPECT_NE(VerifyPlan(RandomTreePlan(Collective::kAlltoall, n, 1), BlockShape(n, 1)).message().find("cannot carry"),
              absl::string_view::npos)
        << n;
  }
}

TEST(VerifyPlansTest, EverySizeOfEveryCollectiveHasAPlan) {
  std::vector<Plan> plans;
  for (int c = 0; c < kCommonCollectiveCount; ++c) plans.push_back(RandomTreePlan(static_cast<Collective>(c), 4, c));
  EXPECT_TRUE(VerifyPlans(plans, BlockShape(4, 1)).ok());
  std::vector<Plan> gap = plans;
  gap[1].bytes_max = 119;
  EXPECT_EQ(VerifyPlans(gap, BlockShape(4, 1)).message(), "plans: none for bcast of 120 bytes");
  plans.pop_back();
  EXPECT_FALSE(VerifyPlans(plans, BlockShape(4, 1)).ok());
}

}  // namespace
}  // namespace copse::schedule
