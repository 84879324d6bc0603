// SPDX-License-Identifier: Apache-2.0
//
// The simulated runner of the scenarios with faults. Of the points at which one happens, a test takes each fifth; with
// COPSE_TEST_CAMPAIGN, each.
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/expectations.h"
#include "integration_tests/scenarios/scenarios.h"
#include "integration_tests/sim/sim_cluster.h"

namespace copse::scenario {
namespace {

using copse::testing::Names;

#define COPSE_SIM_SCENARIO(Name) \
  TEST(SimFailuresTest, Name) { Name(MakeSimCluster().get()); }

COPSE_SIM_SCENARIO(LateRankIsListedAndCompletes)
COPSE_SIM_SCENARIO(DeadlineOfACall)
COPSE_SIM_SCENARIO(StoppedProcessDelaysAndCompletes)
COPSE_SIM_SCENARIO(StoppedDaemonDelaysAndCompletes)
COPSE_SIM_SCENARIO(ArgumentsThatDiffer)
COPSE_SIM_SCENARIO(CollectivesThatDiffer)
COPSE_SIM_SCENARIO(RootsThatDifferInTheLastCall)
COPSE_SIM_SCENARIO(TwoProcessesClaimOneRank)
COPSE_SIM_SCENARIO(SizesThatDiffer)
COPSE_SIM_SCENARIO(TeamOfMissingRanksTimesOut)
COPSE_SIM_SCENARIO(BadArguments)
COPSE_SIM_SCENARIO(ExhaustionAtAdmission)
COPSE_SIM_SCENARIO(PlannerRestartUnderLoad)
COPSE_SIM_SCENARIO(EpochSwitchUnderLoad)
COPSE_SIM_SCENARIO(SwitchWithoutAnAnswerIsAborted)
COPSE_SIM_SCENARIO(PlannerKilledBetweenDecisionAndCommit)

COPSE_SIM_SCENARIO(DestroyedWithCallsInFlight)
COPSE_SIM_SCENARIO(LeftWithCallsInFlight)
COPSE_SIM_SCENARIO(LeftBeforeTheLastCall)
COPSE_SIM_SCENARIO(CountsThatDiffer)

class SimKillTest : public ::testing::TestWithParam<uint64_t> {};
TEST_P(SimKillTest, Process) { KilledProcess(MakeSimCluster().get(), GetParam()); }
TEST_P(SimKillTest, Daemon) { KilledDaemonRejoins(MakeSimCluster().get(), GetParam()); }
TEST_P(SimKillTest, Planner) { KilledPlanner(MakeSimCluster().get(), GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, SimKillTest, ::testing::Range(uint64_t{1}, uint64_t{21}));

TEST(SimFormationTest, NewTeamsWithoutAPlanner) { NewTeamsWithoutAPlanner(MakeSimCluster().get()); }

// The distance of the seeds that run. It has no divisor in common with how many kinds of faults (3) and of collectives
// (7 or 8) take turns by seed, so each kind has its share.
uint64_t SeedStride() { return std::getenv("COPSE_TEST_CAMPAIGN") != nullptr ? 1 : 5; }

// Runs the scenario for seeds from `first` on, below `end`, until one fails.
template <typename Scenario>
void ForSeeds(uint64_t first, uint64_t end, Scenario scenario) {
  for (uint64_t seed = first; seed < end && !::testing::Test::HasFailure(); seed += SeedStride()) {
    SCOPED_TRACE(seed);
    scenario(MakeSimCluster().get(), seed);
  }
}

// Kills at every point of a team's formation, which takes some 500 us of virtual time.
TEST(SimFormationTest, DeathAtAnyPoint) {
  ForSeeds(0, 300, [](SimCluster* cluster, uint64_t seed) {
    KilledDuringFormation(cluster, seed, absl::Microseconds(seed * 3));
  });
}

// The planner cannot send one node the commit: its neighbors, which run the team, notify it. Otherwise its silence
// would be taken for its loss.
TEST(SimFormationTest, ANodeThatMissesTheCommitIsToldByItsNeighbors) {
  const auto cluster = MakeSimCluster();
  ASSERT_TRUE(cluster->Start({.nodes = 3}).ok());
  const CallArguments barrier{.collective = Collective::kBarrier};
  // The first team of a node waits for its address, before anything is prepared.
  const uint32_t warm = cluster->Launch(TeamPrograms("first", {0, 1, 2}, {barrier}, 1));
  for (uint32_t p = warm; p < warm + 3; ++p) ASSERT_TRUE(cluster->AwaitEnd(p, absl::Seconds(8)).ok());
  const uint32_t first = cluster->Launch(TeamPrograms("missed", {0, 1, 2}, std::vector<CallArguments>(20, barrier), 1));
  ASSERT_TRUE(cluster->AwaitTeamPhase("missed", TeamPhase::kPreparing, absl::Seconds(1)).ok());
  cluster->Pass(absl::Microseconds(150));  // its answer is in flight
  ASSERT_TRUE(cluster->SetManagementLink(1, false).ok());
  for (uint32_t p = first; p < first + 3; ++p) ASSERT_TRUE(cluster->AwaitEnd(p, absl::Seconds(8)).ok());
  ExpectAllDone(cluster.get(), first, 3, "missed");
}

// The derived teams of a team of seven are formed within some 800 us of virtual time.
TEST(SimDerivedTeamTest, FormUnderLoad) { ForSeeds(1, 21, DerivedTeamsFormUnderLoad); }

TEST(SimDerivedTeamTest, PlannerRestartsAtAnyPoint) {
  ForSeeds(0, 100, [](SimCluster* cluster, uint64_t seed) {
    PlannerRestartsWhileDerivedTeamsForm(cluster, seed, absl::Microseconds(seed * 15));
  });
}

TEST(SimDerivedTeamTest, DeathAtAnyPoint) {
  ForSeeds(0, 200, [](SimCluster* cluster, uint64_t seed) {
    KilledWhileDerivedTeamsForm(cluster, seed, absl::Microseconds(seed * 7));
  });
}

TEST(SimLongCallTest, DeathInTheMiddle) {
  ForSeeds(0, 40, [](SimCluster* cluster, uint64_t seed) {
    KilledInLongCall(cluster, seed, uint64_t{2} << 20, absl::Microseconds(seed * 10));
  });
}

TEST(SimLongCallTest, SomeHaveNothing) { SomeHaveNothingInLongCalls(MakeSimCluster().get(), uint64_t{40} << 20); }

TEST(SimLongCallTest, EpochSwitchesInTheMiddle) {
  ForSeeds(0, 35,
           [](SimCluster* cluster, uint64_t seed) { EpochSwitchesInLongCalls(cluster, seed, uint64_t{2} << 20); });
}

const CallArguments kBarrier{.collective = Collective::kBarrier};

// Starts a cluster, and a team of a rank on each node that has made some of its calls; returns the first process.
uint32_t StartCalling(SimCluster* cluster, const ClusterOptions& options, uint32_t calls,
                      const CallArguments& call = kBarrier) {
  EXPECT_TRUE(cluster->Start(options).ok());
  Placement placement;
  for (uint32_t node = 0; node < options.nodes; ++node) placement.push_back(node);
  const uint32_t first = cluster->Launch(TeamPrograms("cut", placement, std::vector<CallArguments>(calls, call), 1));
  EXPECT_TRUE(cluster->AwaitOutcomes(first, 10, absl::Seconds(10)).ok());
  return first;
}

// Expects that the process ends as its node or another one is lost by silence; returns the last call's outcome.
Outcome ExpectSilence(SimCluster* cluster, uint32_t process) {
  EXPECT_TRUE(cluster->AwaitEnd(process, absl::Seconds(15)).ok());
  const std::vector<Outcome> outcomes = cluster->Outcomes(process);
  EXPECT_GE(outcomes.size(), 2u);
  if (outcomes.size() < 2) return {};
  const Outcome& last = outcomes[outcomes.size() - 2];
  EXPECT_EQ(last.failure, schedule::Failure::kMemberLost);
  EXPECT_EQ(last.cause, schedule::FailureCause::kNodeSilent);
  return last;
}

// A cut that heals within node_timeout only delays; a longer one breaks the team, on both sides of it.
TEST(SimCutTest, ShortCutDelays) {
  const auto cluster = MakeSimCluster();
  const uint32_t first = StartCalling(cluster.get(), {.nodes = 2}, 100);
  ASSERT_TRUE(cluster->SetDataLink(0, false).ok());
  cluster->Pass(absl::Seconds(5));
  ASSERT_TRUE(cluster->SetDataLink(0, true).ok());
  ExpectAllDone(cluster.get(), first, 2, "cut");
}

TEST(SimCutTest, LongCutIsALoss) {
  const auto cluster = MakeSimCluster();
  const uint32_t first = StartCalling(cluster.get(), {.nodes = 2}, 5000);
  ASSERT_TRUE(cluster->SetDataLink(0, false).ok());
  for (uint32_t p = first; p < first + 2; ++p) {
    EXPECT_THAT(ExpectSilence(cluster.get(), p).text, Names("rank 0 on node n0", "rank 1 on node n1"));
  }
}

// A daemon that was stopped finds its connections closed by peers that received nothing from it: they are not lost.
// Some are its neighbors by another team only.
TEST(SimCutTest, ADaemonThatStoodStillNamesItself) {
  for (uint32_t still = 0; still < 5; ++still) {
    SCOPED_TRACE(absl::StrCat("n", still));
    const auto cluster = MakeSimCluster();
    const uint32_t first = StartCalling(cluster.get(), {.nodes = 5}, 5000);
    const uint32_t other =
        cluster->Launch(TeamPrograms("other", {3, 1, 4, 0, 2}, std::vector<CallArguments>(5000, kBarrier), 1));
    ASSERT_TRUE(cluster->AwaitOutcomes(other, 10, absl::Seconds(10)).ok());
    cluster->KillPlanner();  // a planner would report the node
    cluster->StopDaemon(still);
    cluster->Pass(absl::Seconds(19));
    cluster->ContinueDaemon(still);
    const Outcome last = ExpectSilence(cluster.get(), first + still);
    EXPECT_EQ(last.node, absl::StrCat("n", still)) << last.text;
  }
}

// One node is cut off from the others, but not from the planner, in every kind of tree: whichever node it is and
// whichever neighbor reports first, all ranks get that node's name.
TEST(SimCutTest, TheNodeThatIsCutOffIsNamed) {
  const CallArguments sum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 4};
  for (const char* algorithm : {"flat", "binomial", "kary-2"}) {
    for (uint32_t cut = 0; cut < 5; ++cut) {
      SCOPED_TRACE(absl::StrCat(algorithm, ", n", cut));
      const auto cluster = MakeSimCluster();
      const uint32_t first = StartCalling(cluster.get(), {.nodes = 5, .seed = cut + 1}, 4000, sum);
      ASSERT_TRUE(cluster->Replan("cut", algorithm).ok());
      const size_t done = cluster->Outcomes(first).size();
      ASSERT_TRUE(cluster->AwaitOutcomes(first, done + 100, absl::Seconds(10)).ok());
      ASSERT_TRUE(cluster->SetDataLink(cut, false).ok());
      for (uint32_t p = first; p < first + 5; ++p) {
        EXPECT_THAT(ExpectSilence(cluster.get(), p).text, Names(absl::StrCat("rank ", cut, " on node n", cut), "10s"));
      }
    }
  }
}

// Without a planner to decide, each side names the neighbor that it misses, but no rank waits forever.
TEST(SimCutTest, WithoutAPlannerTheSilentNeighborIsLost) {
  const auto cluster = MakeSimCluster();
  const uint32_t first = StartCalling(cluster.get(), {.nodes = 2}, 5000);
  cluster->KillPlanner();
  ASSERT_TRUE(cluster->SetDataLink(0, false).ok());
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(ExpectSilence(cluster.get(), first + rank).text,
                Names(absl::StrCat("rank ", 1 - rank, " on node n", 1 - rank), "10s"));
  }
}

}  // namespace
}  // namespace copse::scenario
