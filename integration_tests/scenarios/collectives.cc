// SPDX-License-Identifier: Apache-2.0
//
// Scenarios without faults.
#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::scenario {
namespace {

constexpr absl::Duration kLong = absl::Minutes(10);

}  // namespace

void EveryCollective(Cluster* cluster, uint32_t nodes, uint32_t ranks, const std::vector<uint64_t>& counts,
                     uint64_t seed) {
  ASSERT_TRUE(cluster->Start({.nodes = nodes, .seed = seed}).ok());
  ExpectAllSucceed(cluster, TeamPrograms("every", UnevenPlacement(ranks, nodes, seed), EveryCall(ranks, counts), seed),
                   kLong);
}

void RandomCalls(Cluster* cluster, uint32_t nodes, uint32_t ranks, uint32_t calls, uint64_t seed) {
  ASSERT_TRUE(cluster->Start({.nodes = nodes, .seed = seed}).ok());
  std::vector<CallArguments> list;
  for (uint32_t i = 0; i < calls; ++i) list.push_back(RandomCall(ranks, seed * 1000003 + i));
  std::vector<Program> programs = TeamPrograms("random", UnevenPlacement(ranks, nodes, seed), list, seed);
  for (Program& program : programs) {
    for (Step& step : program.script) {
      const bool reduces = Reduces(step.arguments.collective);
      const bool receives =
          step.arguments.collective == Collective::kAllreduce || step.arguments.root == program.script[0].rank;
      step.in_place = step.kind == StepKind::kCall && reduces && receives && step.seed % 3 == 0;
    }
  }
  ExpectAllSucceed(cluster, programs, kLong);
}

void RandomTeam(Cluster* cluster, uint32_t calls, uint64_t bytes_max, uint64_t seed) {
  Prng prng(seed * 7919);
  const auto ranks = static_cast<uint32_t>(1 + prng.Below(24));
  const auto nodes = static_cast<uint32_t>(1 + prng.Below(std::min(ranks, 12u)));
  ASSERT_TRUE(cluster->Start({.nodes = nodes, .seed = seed}).ok());
  std::vector<Step> steps;
  for (uint32_t i = 0; i < calls; ++i) {
    Step& step = steps.emplace_back(RandomStep(ranks, bytes_max, seed * 1000003 + i));
    if (prng.Chance(0.3)) step.kind = StepKind::kPost;
  }
  steps.push_back(AwaitStep());
  SCOPED_TRACE(absl::StrCat("team of ", ranks, " ranks on ", nodes, " nodes, ", calls, " calls, seed ", seed));
  ExpectAllSucceed(cluster, TeamPrograms("random", UnevenPlacement(ranks, nodes, seed), steps), kLong);
}

void BackToBackSkewed(Cluster* cluster, uint32_t nodes, uint32_t ranks, uint32_t calls, uint64_t seed) {
  ASSERT_TRUE(cluster->Start({.nodes = nodes, .seed = seed}).ok());
  const Placement placement = UnevenPlacement(ranks, nodes, seed);
  std::vector<Program> programs;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    Prng prng(seed * 77 + rank);
    Script script = {TeamStep(0, "skewed", rank, ranks)};
    for (uint32_t i = 0; i < calls; ++i) {
      // Calls are small and large, blocking and not, and every rank is late now and then.
      CallArguments call = RandomCall(ranks, seed * 999983 + i);
      if (i % 16 != 0) call.count = std::min<uint64_t>(call.count, 32);
      script.push_back(i % 3 == 0 ? PostStep(0, call, seed + i) : CallStep(0, call, seed + i));
      script.back().under_way_max = static_cast<uint32_t>(prng.Below(3));
      if (i % 64 == 63) script.push_back(AwaitStep());
      if (prng.Chance(0.02)) script.push_back(PauseStep(absl::Microseconds(prng.Below(300))));
    }
    script.push_back(AwaitStep());
    script.push_back(DestroyStep(0));
    programs.push_back({placement[rank], std::move(script)});
  }
  ExpectAllSucceed(cluster, programs, kLong);
}

void TwoTeamsAtOnce(Cluster* cluster, uint64_t seed) {
  constexpr uint32_t kNodes = 4;
  constexpr uint32_t kRanks = 8;
  ASSERT_TRUE(cluster->Start({.nodes = kNodes, .seed = seed}).ok());
  std::vector<Program> programs;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    // The second team numbers its ranks in reverse, and has calls of its own.
    const uint32_t other = kRanks - 1 - rank;
    Script script = {TeamStep(0, "forward", rank, kRanks), TeamStep(1, "backward", other, kRanks)};
    for (uint32_t i = 0; i < 40; ++i) {
      script.push_back(PostStep(0, RandomCall(kRanks, seed + i), seed + i));
      script.push_back(PostStep(1, RandomCall(kRanks, seed + 1000 + i), seed + 1000 + i));
      if (i % 8 == 7) script.push_back(AwaitStep());
    }
    script.push_back(DestroyStep(0));
    script.push_back(CallStep(1, {.collective = Collective::kBarrier}, 0));
    script.push_back(DestroyStep(1));
    programs.push_back({rank % kNodes, std::move(script)});
  }
  ExpectAllSucceed(cluster, programs, kLong);
}

void SubTeams(Cluster* cluster) {
  constexpr uint32_t kRanks = 8;
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  const CallArguments sum{.collective = Collective::kAllreduce, .type = ElementType::kInt64, .count = 6};
  std::vector<Program> programs;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    Script script = {TeamStep(0, "parent", rank, kRanks), CallStep(0, sum, 1)};
    // The first sub-team has the odd ranks, in reverse order; the second has all, as a duplicate.
    script.push_back({.kind = StepKind::kSubTeam, .team = 1, .parent = 0, .members = {7, 5, 3, 1}});
    script.push_back({.kind = StepKind::kSubTeam, .team = 2, .parent = 0, .members = {0, 1, 2, 3, 4, 5, 6, 7}});
    for (uint32_t i = 0; i < 10; ++i) {
      if (rank % 2 == 1) script.push_back(CallStep(1, RandomCall(4, 50 + i), 50 + i));
      script.push_back(CallStep(2, RandomCall(kRanks, 70 + i), 70 + i));
    }
    if (rank % 2 == 1) script.push_back(DestroyStep(1));
    script.push_back(DestroyStep(2));
    script.push_back(CallStep(0, sum, 2));
    script.push_back(DestroyStep(0));
    programs.push_back({rank / 2, std::move(script)});
  }
  ExpectAllSucceed(cluster, programs, kLong);
}

// Runs a flat tree whose root has more children than fit into one descriptor sequence, with calls close behind one
// another, so that sends wait for credit in the middle of a block.
void ManyChildren(Cluster* cluster, uint32_t nodes) {
  ASSERT_TRUE(cluster->Start({.nodes = nodes}).ok());
  Placement placement;
  for (uint32_t r = 0; r < nodes; ++r) placement.push_back(r);
  std::vector<Program> programs;
  for (uint32_t rank = 0; rank < nodes; ++rank) {
    Prng prng(rank + 1);
    Script script = {TeamStep(0, "wide", rank, nodes), CallStep(0, {.collective = Collective::kBarrier}, 0)};
    if (rank == 0) script.push_back(PauseStep(absl::Seconds(1)));  // the plans are switched meanwhile
    for (uint32_t i = 0; i < 60; ++i) {
      // Broadcasts from one rank need no answer: only credit holds it back.
      CallArguments call = RandomCall(nodes, 600 + i);
      if (i % 4 != 0) call = {.collective = Collective::kBcast, .type = ElementType::kInt32, .count = 2 + i, .root = 0};
      script.push_back(PostStep(0, call, 600 + i));
      if (rank > 0 && prng.Chance(0.1)) script.push_back(PauseStep(absl::Microseconds(prng.Below(2000))));
    }
    script.push_back(AwaitStep());
    script.push_back(DestroyStep(0));
    programs.push_back({placement[rank], std::move(script)});
  }
  const uint32_t first = cluster->Launch(programs);
  ASSERT_TRUE(cluster->AwaitOutcomes(first, 2, kLong).ok());
  const absl::Status replanned = cluster->Replan("wide", "flat");
  ASSERT_TRUE(replanned.ok()) << replanned;
  for (uint32_t p = first; p < first + nodes; ++p) {
    ASSERT_TRUE(cluster->AwaitEnd(p, kLong).ok()) << "process " << p;
    for (const Outcome& outcome : cluster->Outcomes(p)) {
      EXPECT_EQ(outcome.failure, schedule::Failure::kNone) << outcome.text;
      EXPECT_TRUE(outcome.data_ok);
    }
  }
}

}  // namespace copse::scenario
