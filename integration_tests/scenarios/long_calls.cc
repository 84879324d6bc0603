// SPDX-License-Identifier: Apache-2.0
//
// Scenarios of collectives that need a derived team for their class, and of calls of many chunks: faults while one is
// formed, or in the middle of the other.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/string_view.h"
#include "collectives/call_arguments.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/expectations.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::scenario {
namespace {

using schedule::Failure;

const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

Step StepOf(const CallArguments& arguments, uint64_t seed) { return CallStep(0, arguments, seed); }

// Returns "7" of "...call 7: ...", if the text has it.
std::string CallNumberIn(const std::string& text) {
  const size_t call = text.find("call ");
  return call == std::string::npos ? "" : text.substr(call + 5, text.find(':', call) - call - 5);
}

// Makes a step with equal blocks for irregular collectives, else the plain call; each rank's buffer has about `bytes`
// bytes.
Step LongStep(Collective collective, uint32_t ranks, uint64_t bytes, uint32_t root, uint64_t seed) {
  Step step = StepOf({.collective = collective, .type = ElementType::kInt32, .op = ElementOp::kSum}, seed);
  if (HasRoot(collective)) step.arguments.root = root;
  const uint64_t block = bytes / 4 / ranks;
  if (collective == Collective::kAlltoallv) {
    step.counts.assign(size_t{ranks} * ranks, block);
  } else if (IsIrregular(collective)) {
    step.counts.assign(ranks, block);
    step.counts[seed % ranks] = 2 * block + 1;
  } else {
    step.arguments.count = HoldsBlocks(collective) ? block : bytes / 4;
  }
  step.displaced = seed % 2 == 0;
  return step;
}

// Returns one short call of each collective class.
std::vector<Step> OneOfEach(uint32_t ranks, uint64_t seed) {
  static constexpr Collective kOf[][4] = {
      {Collective::kGather, Collective::kScatter, Collective::kGatherv, Collective::kScatterv},
      {Collective::kAllgather, Collective::kReduceScatter, Collective::kScan, Collective::kAllgatherv},
      {Collective::kAlltoall, Collective::kAlltoallv, Collective::kAlltoall, Collective::kAlltoallv}};
  Prng prng(seed);
  std::vector<Step> steps;
  for (const auto& family : kOf) {
    steps.push_back(LongStep(family[prng.Below(4)], ranks, 64 + prng.Below(4000),
                             static_cast<uint32_t>(prng.Below(ranks)), seed + steps.size()));
  }
  for (size_t i = steps.size(); i > 1; --i) std::swap(steps[i - 1], steps[prng.Below(i)]);
  return steps;
}

constexpr Collective kCarried[] = {Collective::kBcast,         Collective::kAllreduce,  Collective::kGatherv,
                                   Collective::kScatterv,      Collective::kAllgatherv, Collective::kAlltoallv,
                                   Collective::kReduceScatter, Collective::kScan};

}  // namespace

void DerivedTeamsFormUnderLoad(Cluster* cluster, uint64_t seed) {
  constexpr uint32_t kRanks = 9;
  ASSERT_TRUE(cluster->Start({.nodes = 5, .seed = seed}).ok());
  const Placement placement = UnevenPlacement(kRanks, 5, seed);
  std::vector<Step> steps;
  Prng prng(seed);
  const std::vector<Step> rare = OneOfEach(kRanks, seed);
  for (uint32_t i = 0; i < 120; ++i) {
    Step& step = steps.emplace_back(StepOf(RandomCall(kRanks, seed * 1009 + i), i));
    step.arguments.count = std::min<uint64_t>(step.arguments.count, 2000);
    if (prng.Chance(0.7)) step.kind = StepKind::kPost;
    // Each class is used for the first time amid calls in flight, and again soon after.
    if (i % 30 == 10) {
      steps.push_back(rare[i / 30 % 3]);
      steps.back().kind = StepKind::kPost;
    }
    if (i % 30 == 14) steps.push_back(rare[i / 30 % 3]);
    if (i % 40 == 39) steps.push_back(AwaitStep());
  }
  steps.push_back(AwaitStep());
  std::vector<Program> programs = TeamPrograms("loaded", placement, steps);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    Prng own(seed * 31 + rank);
    Script skewed;
    for (const Step& step : programs[rank].script) {
      skewed.push_back(step);
      if (own.Chance(0.1)) skewed.push_back(PauseStep(absl::Microseconds(own.Below(400))));
    }
    programs[rank].script = std::move(skewed);
  }
  ExpectAllSucceed(cluster, programs, kPatience);
}

void PlannerRestartsWhileDerivedTeamsForm(Cluster* cluster, uint64_t seed, absl::Duration after) {
  constexpr uint32_t kRanks = 7;
  ASSERT_TRUE(cluster->Start({.nodes = 4, .seed = seed}).ok());
  std::vector<Step> steps = OneOfEach(kRanks, seed);
  for (uint32_t i = 0; i < 10; ++i) steps.push_back(StepOf(kSum, 100 + i));
  const std::vector<Step> again = OneOfEach(kRanks, seed + 50);
  steps.insert(steps.end(), again.begin(), again.end());
  const uint32_t first = cluster->Launch(TeamPrograms("derived", UnevenPlacement(kRanks, 4, seed), steps));
  ExpectOk(cluster->AwaitOutcomes(first, 1, kPatience));
  cluster->Pass(after);
  cluster->KillPlanner();
  ExpectOk(cluster->RestartPlanner());
  ExpectAllDone(cluster, first, kRanks, absl::StrCat("seed ", seed), steps.size() + 2);
}

void KilledWhileDerivedTeamsForm(Cluster* cluster, uint64_t seed, absl::Duration after) {
  constexpr uint32_t kRanks = 7;
  ASSERT_TRUE(cluster->Start({.nodes = 4, .seed = seed}).ok());
  Prng prng(seed);
  const Placement placement = UnevenPlacement(kRanks, 4, seed);
  const uint32_t first = cluster->Launch(TeamPrograms("derived", placement, OneOfEach(kRanks, seed)));
  ExpectOk(cluster->AwaitOutcomes(first, 1, kPatience));
  cluster->Pass(after);
  const auto victim = static_cast<uint32_t>(prng.Below(kRanks));
  const bool whole_node = seed % 2 == 0;
  if (whole_node) {
    cluster->KillDaemon(placement[victim]);
  } else {
    cluster->KillProcess(first + victim);
  }
  for (uint32_t p = 0; p < kRanks; ++p) {
    if (p == victim && !whole_node) continue;
    const std::string what = absl::StrCat("rank ", p, " seed ", seed);
    ExpectOk(cluster->AwaitEnd(first + p, kPatience));
    // A destroyed team was complete; one whose formation failed leaves nothing to destroy.
    ExpectSuccessThenFailure(cluster->Outcomes(first + p),
                             {Failure::kMemberLost, Failure::kNoDaemon, Failure::kInvalidArgument, Failure::kCanceled},
                             {}, what);
  }
  if (whole_node) ExpectOk(cluster->RestartDaemon(placement[victim]));
  ExpectWorks(cluster, "after", {0, 1, 2, 3});
}

void KilledInLongCall(Cluster* cluster, uint64_t seed, uint64_t bytes, absl::Duration after) {
  constexpr uint32_t kRanks = 8;
  ASSERT_TRUE(cluster->Start({.nodes = 5, .seed = seed}).ok());
  Prng prng(seed);
  const Placement placement = UnevenPlacement(kRanks, 5, seed);
  const Collective collective = kCarried[seed % std::size(kCarried)];
  const auto root = static_cast<uint32_t>(prng.Below(kRanks));
  // The preceding short call forms the derived team.
  std::vector<Step> steps = {LongStep(collective, kRanks, 400, root, seed)};
  for (uint32_t i = 1; i < 4; ++i) steps.push_back(LongStep(collective, kRanks, bytes, root, seed + i));
  const uint32_t first = cluster->Launch(TeamPrograms("long", placement, steps));
  const std::vector<uint32_t> bystanders = {0, 1, 2, 3, 4};
  for (uint32_t p = 0; p < kRanks; ++p) ExpectOk(cluster->AwaitOutcomes(first + p, 2, kPatience));
  cluster->Pass(after);
  const auto victim = static_cast<uint32_t>(prng.Below(kRanks));
  const bool whole_node = prng.Chance(0.5);
  if (whole_node) {
    cluster->KillDaemon(placement[victim]);
  } else {
    cluster->KillProcess(first + victim);
  }
  uint32_t failed = 0;
  for (uint32_t p = 0; p < kRanks; ++p) {
    if (p == victim && !whole_node) continue;
    const std::string what = absl::StrCat(AbslView(CollectiveName(collective)), " rank ", p, " seed ", seed);
    ExpectOk(cluster->AwaitEnd(first + p, kPatience));
    const std::vector<Outcome> outcomes = cluster->Outcomes(first + p);
    if (whole_node && placement[p] == placement[victim]) {
      ExpectSuccessThenFailure(outcomes, {Failure::kNoDaemon}, {}, what);
      continue;
    }
    ExpectSuccessThenFailure(outcomes, {Failure::kMemberLost}, {absl::StrCat("n", placement[victim])}, what);
    failed +=
        std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.failure != Failure::kNone; });
  }
  EXPECT_GT(failed, 0u) << "nobody was in the middle of anything, seed " << seed;
  if (whole_node) ExpectOk(cluster->RestartDaemon(placement[victim]));
  ExpectWorks(cluster, "after", bystanders);
}

void SomeHaveNothingInLongCalls(Cluster* cluster, uint64_t bytes) {
  constexpr uint32_t kRanks = 5;
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  std::vector<Step> steps;
  for (uint32_t i = 0; i < 3; ++i) {
    for (const Collective collective : {Collective::kGatherv, Collective::kScatterv, Collective::kAlltoallv}) {
      Step& step = steps.emplace_back(LongStep(collective, kRanks, 400, 1, i));
      // Then one rank alone has much data: rank 2 sends it, or receives it.
      if (i == 1) {
        std::fill(step.counts.begin(), step.counts.end(), 0);
        step.counts[step.counts.size() / 2] = bytes / 4;
      }
      step.kind = StepKind::kPost;
    }
  }
  steps.push_back(AwaitStep());
  ExpectAllSucceed(cluster, TeamPrograms("unequal", {0, 1, 2, 3, 1}, steps), kPatience);
}

void EpochSwitchesInLongCalls(Cluster* cluster, uint64_t seed, uint64_t bytes) {
  constexpr uint32_t kRanks = 7;
  ASSERT_TRUE(cluster->Start({.nodes = 5, .seed = seed}).ok());
  struct Switched {
    Collective collective;
    std::vector<std::string> algorithms;
  };
  const Switched kSwitched[] = {
      {Collective::kAllreduce, {"flat", "binomial", "kary-2"}},
      {Collective::kBcast, {"chain", "flat", "binomial"}},
      {Collective::kGatherv, {"flat", "binomial", "kary-3"}},
      {Collective::kScatterv, {"binomial", "flat", "chain"}},
      {Collective::kAllgatherv, {"ring", "binomial", "bruck"}},
      {Collective::kReduceScatterv, {"ring", "flat", "rotated-binomial"}},
      {Collective::kAlltoallv, {"pairwise", "pairwise", "pairwise"}},
  };
  const Switched& switched = kSwitched[seed % std::size(kSwitched)];
  std::vector<Step> steps = {LongStep(switched.collective, kRanks, 400, 1, seed)};
  for (uint32_t i = 1; i <= 6; ++i) {
    // Short calls run between the long ones, some of them in the next epoch already.
    steps.push_back(LongStep(switched.collective, kRanks, bytes, i, seed + i));
    steps.back().kind = i % 2 == 0 ? StepKind::kPost : StepKind::kCall;
    steps.push_back(LongStep(switched.collective, kRanks, 100, i, seed + 20 + i));
  }
  steps.push_back(AwaitStep());
  const size_t outcomes = 1 + steps.size();  // the team's, and one of each step that is no pause
  // The team is there until the last replanning is answered, however fast the calls are.
  steps.push_back(PauseStep(absl::Seconds(2)));
  // The pause lasts until the planner knows that all have the derived team.
  steps.insert(steps.begin() + 1, PauseStep(absl::Milliseconds(10)));
  const uint32_t first = cluster->Launch(TeamPrograms("switched", UnevenPlacement(kRanks, 5, seed), steps));
  for (uint32_t p = 0; p < kRanks; ++p) ExpectOk(cluster->AwaitOutcomes(first + p, 2, kPatience));
  cluster->Pass(absl::Milliseconds(5));
  size_t next = 2;
  for (const std::string& algorithm : switched.algorithms) {
    ExpectOk(cluster->AwaitOutcomes(first, next, kPatience));
    next += 3;
    EXPECT_LT(cluster->Outcomes(first).size(), outcomes - 1) << "all is over already, seed " << seed;
    ExpectOk(cluster->ReplanCollective("switched", switched.collective, algorithm));
  }
  ExpectAllDone(cluster, first, kRanks, absl::StrCat(AbslView(CollectiveName(switched.collective)), ", seed ", seed),
                outcomes);
}

void DestroyedWithCallsInFlight(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  for (const Collective collective : kCarried) {
    const std::string name = absl::StrCat("destroyed-", AbslView(CollectiveName(collective)));
    const Step late = LongStep(collective, 4, 400'000, 1, 7);
    std::vector<Program> programs = TeamPrograms(name, {0, 1, 2, 0}, {late});
    // Rank 0 is refused while its call is in flight; rank 3 is late to it; afterwards the team is as it was before
    // the attempt.
    programs[0].script = {TeamStep(0, name, 0, 4), late, DestroyStep(0), AwaitStep(), DestroyStep(0)};
    programs[0].script[1].kind = StepKind::kPost;
    programs[3].script.insert(programs[3].script.begin() + 1, PauseStep(absl::Milliseconds(20)));
    const uint32_t first = cluster->Launch(programs);
    const auto all = AwaitAll(cluster, first, 4);
    ASSERT_EQ(all[0].size(), 4u) << name;
    ExpectOutcome(all[0][2], Failure::kInvalidArgument, {name}, absl::StrCat(name, ": destroyed too early"));
    for (uint32_t r = 0; r < 4; ++r) {
      for (size_t i = 0; i < all[r].size(); ++i) {
        if (r != 0 || i != 2) ExpectOutcome(all[r][i], Failure::kNone, {}, absl::StrCat(name, " rank ", r));
      }
    }
  }
}

void LeftWithCallsInFlight(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  const std::vector<Program> neighbors = TeamPrograms("neighbors", {2, 1, 0}, std::vector<CallArguments>(50, kSum), 1);
  for (const Collective collective : kCarried) {
    const std::string name = absl::StrCat("left-", AbslView(CollectiveName(collective)));
    // The first call ensures that no rank is lost before all have the team.
    std::vector<Program> programs =
        TeamPrograms(name, {0, 1, 2, 0}, {StepOf(kSum, 1), LongStep(collective, 4, 400'000, 1, 7)});
    // Rank 2 ends without waiting for any rank.
    programs[2].script[2].kind = StepKind::kPost;
    programs[2].script.resize(3);
    // Rank 3 is so late that it does not reach the call.
    programs[3].script.insert(programs[3].script.begin() + 2, PauseStep(absl::Milliseconds(50)));
    const uint32_t first = cluster->Launch(programs);
    const uint32_t first_neighbor = cluster->Launch(neighbors);
    for (const uint32_t r : {0u, 1u, 3u}) {
      ExpectOk(cluster->AwaitEnd(first + r, kPatience));
      const std::vector<Outcome> outcomes = cluster->Outcomes(first + r);
      ASSERT_EQ(outcomes.size(), 4u);
      ExpectSuccessThenFailure(outcomes, {Failure::kMemberLost}, {"rank 2 on node n2"},
                               absl::StrCat(name, " rank ", r));
    }
    ExpectAllDone(cluster, first_neighbor, 3, "neighbor");
  }
  ExpectWorks(cluster, "after", {0, 1, 2});
}

void LeftBeforeTheLastCall(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  const CallArguments barrier{.collective = Collective::kBarrier};
  const auto expect_named = [&](const std::vector<Outcome>& outcomes, const std::string& name) {
    ASSERT_GE(outcomes.size(), 3u) << name;
    ExpectSuccessThenFailure(outcomes, {Failure::kMemberLost}, {"rank 0 on node n0"}, name);
    EXPECT_EQ(outcomes[2].failure, Failure::kMemberLost) << name;
    EXPECT_EQ(outcomes[2].cause, schedule::FailureCause::kMemberLeft) << name;
  };
  int number = 0;
  // The leaver's node has another rank, or all of them; in the last case that rank makes no call at first.
  for (const Placement& placement : {Placement{0, 0, 1, 2}, Placement{0, 0}}) {
    const auto ranks = static_cast<uint32_t>(placement.size());
    for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce, Collective::kAlltoall}) {
      for (const absl::Duration leaves_after : {absl::ZeroDuration(), absl::Milliseconds(50)}) {
        const std::string name = absl::StrCat("left", number++);
        std::vector<Program> programs =
            TeamPrograms(name, placement, {StepOf(barrier, 1), LongStep(collective, ranks, 64, 1, 7)});
        programs[0].script = {programs[0].script[0], programs[0].script[1], PauseStep(leaves_after), DestroyStep(0)};
        const uint32_t first = cluster->Launch(programs);
        const auto all = AwaitAll(cluster, first, ranks);
        for (uint32_t r = 1; r < ranks; ++r) expect_named(all[r], absl::StrCat(name, " rank ", r));
      }
    }
  }
  std::vector<Program> programs = TeamPrograms("stopped", {0, 0, 1}, {barrier, kSum}, 1);
  programs[0].script = {programs[0].script[0], programs[0].script[1], DestroyStep(0)};
  for (const uint32_t r : {1u, 2u}) {
    programs[r].script.insert(programs[r].script.begin() + 2, PauseStep(absl::Milliseconds(200)));
  }
  const uint32_t first = cluster->Launch(programs);
  for (const uint32_t r : {1u, 2u}) ExpectOk(cluster->AwaitOutcomes(first + r, 2, kPatience));
  cluster->StopProcess(first + 1);
  ExpectOk(cluster->AwaitEnd(first + 2, kPatience));
  expect_named(cluster->Outcomes(first + 2), "the other node's");
  cluster->ContinueProcess(first + 1);
  ExpectOk(cluster->AwaitEnd(first + 1, kPatience));
  expect_named(cluster->Outcomes(first + 1), "the stopped one");
  ExpectWorks(cluster, "after", {0, 1, 2});
}

void CountsThatDiffer(Cluster* cluster) {
  ASSERT_TRUE(cluster->Start({.nodes = 4}).ok());
  struct Case {
    Collective collective;
    uint8_t options;
    uint32_t rank;      // the rank with the wrong count
    size_t place;       // index of the wrong count
    std::string thing;  // named in every rank's error
  };
  constexpr uint32_t kRanks = 6;
  const Case kCases[] = {
      {Collective::kGatherv, 0, 3, 3, "rank=3"},
      {Collective::kGatherv, 0, 0, 0, "rank=0"},  // on the root's node
      {Collective::kScatterv, 0, 3, 3, "rank=3"},
      {Collective::kGatherv, kCountsKnown, 3, 1, "rank 3"},
      {Collective::kScatterv, kCountsKnown, 3, 1, "rank 3"},
      {Collective::kAllgatherv, 0, 3, 1, "rank 3"},
      {Collective::kReduceScatterv, 0, 3, 1, "rank 3"},
      {Collective::kAlltoallv, 0, 3, 3 * kRanks + 5, "sender=3"},    // sends more than rank 5 wants
      {Collective::kAlltoallv, 0, 3, 1 * kRanks + 3, "receiver=3"},  // expects more than rank 1 sends
      {Collective::kAlltoallv, 0, 2, 2 * kRanks + 5, "sender=2"},    // to its neighbor on the same node
      {Collective::kAlltoallv, kPairsBounded, 3, 3 * kRanks + 5, "sender=3"},
      {Collective::kAlltoallv, kPairsBounded, 3, 1 * kRanks + 3, "receiver=3"},
      {Collective::kAlltoallv, kPairsBounded, 2, 2 * kRanks + 5, "sender=2"},
  };
  const std::vector<Program> neighbors =
      TeamPrograms("neighbors", {3, 2, 1, 0}, std::vector<CallArguments>(50, kSum), 1);
  int number = 0;
  for (const Case& c : kCases) {
    for (const uint64_t bytes : {uint64_t{600}, uint64_t{300'000}}) {
      const std::string name = absl::StrCat("differ", number++, "-", AbslView(CollectiveName(c.collective)));
      Step right = LongStep(c.collective, kRanks, bytes, 1, 7);
      right.arguments.options = c.options;
      const bool is_bounded = (c.options & kPairsBounded) != 0;
      if (is_bounded) right.arguments.count = bytes;
      std::vector<Program> programs =
          TeamPrograms(name, {0, 0, 1, 2, 3, 1}, {StepOf(kSum, 1), right, right, StepOf(kSum, 2)});
      Step wrong = right;
      wrong.counts[c.place] += 1;
      programs[c.rank].script[2] = wrong;
      const uint32_t first = cluster->Launch(programs);
      const uint32_t first_neighbor = cluster->Launch(neighbors);
      const auto all = AwaitAll(cluster, first, kRanks);
      for (uint32_t r = 0; r < kRanks; ++r) {
        const std::string what = absl::StrCat(name, " of ", bytes, " bytes, rank ", r);
        ASSERT_EQ(all[r].size(), 6u) << what;
        // The error has the call's number, not that of the chunk in which it was found.
        EXPECT_EQ(CallNumberIn(all[r][4].text), CallNumberIn(all[0][4].text)) << what << ": " << all[r][4].text;
        // A rank that has contributed everything may have completed the call; where the result needs all ranks, none
        // has.
        ExpectSuccessThenFailure(all[r], {Failure::kMismatch}, {c.thing}, what);
        ExpectOutcome(all[r][4], Failure::kMismatch, {c.thing}, what);
      }
      ExpectAllDone(cluster, first_neighbor, 4, "neighbor");
      if (::testing::Test::HasFailure()) return;
    }
  }
  ExpectWorks(cluster, "after", {0, 1, 2, 3});
}

}  // namespace copse::scenario
