// SPDX-License-Identifier: Apache-2.0
//
// The simulated runner of the scenarios with faults.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/scenarios/scenarios.h"
#include "integration_tests/sim/sim_cluster.h"

namespace copse::scenario {
namespace {

using copse::testing::Names;

#define COPSE_SIM_SCENARIO(Name) \
  TEST(SimFailuresTest, Name) {  \
    SimCluster cluster;          \
    Name(&cluster);              \
  }

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
COPSE_SIM_SCENARIO(PlannerKilledBetweenDecisionAndCommit)

COPSE_SIM_SCENARIO(DestroyedWithCallsInFlight)
COPSE_SIM_SCENARIO(LeftWithCallsInFlight)
COPSE_SIM_SCENARIO(LeftBeforeTheLastCall)
COPSE_SIM_SCENARIO(CountsThatDiffer)

class SimKillTest : public ::testing::TestWithParam<uint64_t> {};
TEST_P(SimKillTest, Process) {
  SimCluster cluster;
  KilledProcess(&cluster, GetParam());
}
TEST_P(SimKillTest, Daemon) {
  SimCluster cluster;
  KilledDaemonRejoins(&cluster, GetParam());
}
TEST_P(SimKillTest, Planner) {
  SimCluster cluster;
  KilledPlanner(&cluster, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Seeds, SimKillTest, ::testing::Range(uint64_t{1}, uint64_t{21}));

TEST(SimFormationTest, NewTeamsWithoutAPlanner) {
  SimCluster cluster;
  NewTeamsWithoutAPlanner(&cluster);
}

// Kills at every point of a team's formation, which takes some 500 us of virtual time.
TEST(SimFormationTest, DeathAtAnyPoint) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SimCluster cluster;
    KilledDuringFormation(&cluster, seed, absl::Microseconds(seed * 3));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// The planner cannot send one node the commit: its neighbors, which run the team, notify it. Otherwise its silence
// would be taken for its loss.
TEST(SimFormationTest, ANodeThatMissesTheCommitIsToldByItsNeighbours) {
  SimCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 3}).ok());
  const CallArguments barrier{.collective = Collective::kBarrier};
  const uint32_t first = cluster.Launch(TeamPrograms("missed", {0, 1, 2}, std::vector<CallArguments>(20, barrier), 1));
  ASSERT_TRUE(cluster.AwaitTeamPhase("missed", TeamPhase::kPreparing, absl::Seconds(1)).ok());
  cluster.Pass(absl::Microseconds(150));  // its answer is in flight
  ASSERT_TRUE(cluster.SetManagementLink(1, false).ok());
  for (uint32_t p = first; p < first + 3; ++p) {
    ASSERT_TRUE(cluster.AwaitEnd(p, absl::Seconds(8)).ok());
    for (const Outcome& outcome : cluster.Outcomes(p)) {
      EXPECT_EQ(outcome.failure, schedule::Failure::kNone) << outcome.text;
    }
  }
}

// The derived teams of a team of seven are formed within some 800 us of virtual time.
TEST(SimCompanionTest, FormUnderLoad) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimCluster cluster;
    CompanionsFormUnderLoad(&cluster, seed);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(SimCompanionTest, PlannerRestartsAtAnyPoint) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimCluster cluster;
    PlannerRestartsWhileCompanionsForm(&cluster, seed, absl::Microseconds(seed * 15));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(SimCompanionTest, DeathAtAnyPoint) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimCluster cluster;
    KilledWhileCompanionsForm(&cluster, seed, absl::Microseconds(seed * 7));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(SimLongCallTest, DeathInTheMiddle) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SimCluster cluster;
    KilledInLongCall(&cluster, seed, uint64_t{2} << 20, absl::Microseconds(seed * 10));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(SimLongCallTest, SomeHaveNothing) {
  SimCluster cluster;
  SomeHaveNothingInLongCalls(&cluster, uint64_t{40} << 20);
}

TEST(SimLongCallTest, EpochSwitchesInTheMiddle) {
  for (uint64_t seed = 0; seed < 28; ++seed) {
    SimCluster cluster;
    EpochSwitchesInLongCalls(&cluster, seed, uint64_t{2} << 20);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// A cut that heals within node_timeout only delays; a longer one breaks the team, on both sides of it.
TEST(SimCutTest, ShortCutDelays) {
  SimCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 2}).ok());
  const CallArguments barrier{.collective = Collective::kBarrier};
  const uint32_t first = cluster.Launch(TeamPrograms("cut", {0, 1}, std::vector<CallArguments>(100, barrier), 1));
  ASSERT_TRUE(cluster.AwaitOutcomes(first, 10, absl::Seconds(10)).ok());
  cluster.CutLink(0, 1);
  cluster.Pass(absl::Seconds(5));
  cluster.HealLinks();
  for (uint32_t p = first; p < first + 2; ++p) {
    ASSERT_TRUE(cluster.AwaitEnd(p, absl::Seconds(10)).ok());
    for (const Outcome& outcome : cluster.Outcomes(p))
      EXPECT_EQ(outcome.failure, schedule::Failure::kNone) << outcome.text;
  }
}

TEST(SimCutTest, LongCutIsALoss) {
  SimCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 2}).ok());
  const CallArguments barrier{.collective = Collective::kBarrier};
  const uint32_t first = cluster.Launch(TeamPrograms("cut", {0, 1}, std::vector<CallArguments>(5000, barrier), 1));
  ASSERT_TRUE(cluster.AwaitOutcomes(first, 10, absl::Seconds(10)).ok());
  cluster.CutLink(0, 1);
  for (uint32_t p = first; p < first + 2; ++p) {
    ASSERT_TRUE(cluster.AwaitEnd(p, absl::Seconds(15)).ok());
    const std::vector<Outcome> outcomes = cluster.Outcomes(p);
    const Outcome& last = outcomes[outcomes.size() - 2];
    EXPECT_EQ(last.failure, schedule::Failure::kMemberLost);
    EXPECT_EQ(last.cause, schedule::FailureCause::kNodeSilent);
    EXPECT_THAT(last.text, Names("rank 0 on node n0", "rank 1 on node n1"));
  }
}

// A daemon that was stopped finds its connections closed by peers that received nothing from it: they are not lost.
// Some are its neighbors by another team only.
TEST(SimCutTest, ADaemonThatStoodStillNamesItself) {
  const CallArguments barrier{.collective = Collective::kBarrier};
  for (uint32_t still = 0; still < 5; ++still) {
    SCOPED_TRACE(absl::StrCat("n", still));
    SimCluster cluster;
    ASSERT_TRUE(cluster.Start({.nodes = 5}).ok());
    const auto launch = [&](const std::string& name, const Placement& placement) {
      return cluster.Launch(TeamPrograms(name, placement, std::vector<CallArguments>(5000, barrier), 1));
    };
    const uint32_t first = launch("still", {0, 1, 2, 3, 4}), other = launch("other", {3, 1, 4, 0, 2});
    for (const uint32_t program : {first, other}) {
      ASSERT_TRUE(cluster.AwaitOutcomes(program, 10, absl::Seconds(10)).ok());
    }
    cluster.KillPlanner();  // a planner would report the node
    cluster.StopDaemon(still);
    cluster.Pass(absl::Seconds(19));
    cluster.ContinueDaemon(still);
    ASSERT_TRUE(cluster.AwaitEnd(first + still, absl::Seconds(15)).ok());
    const std::vector<Outcome> outcomes = cluster.Outcomes(first + still);
    ASSERT_GE(outcomes.size(), 2u);
    const Outcome& last = outcomes[outcomes.size() - 2];
    EXPECT_EQ(last.failure, schedule::Failure::kMemberLost);
    EXPECT_EQ(last.cause, schedule::FailureCause::kNodeSilent);
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
      SimCluster cluster;
      ASSERT_TRUE(cluster.Start({.nodes = 5, .seed = cut + 1}).ok());
      const uint32_t first =
          cluster.Launch(TeamPrograms("cut", {0, 1, 2, 3, 4}, std::vector<CallArguments>(4000, sum), 1));
      ASSERT_TRUE(cluster.AwaitOutcomes(first, 10, absl::Seconds(10)).ok());
      ASSERT_TRUE(cluster.Replan("cut", algorithm).ok());
      const size_t done = cluster.Outcomes(first).size();
      ASSERT_TRUE(cluster.AwaitOutcomes(first, done + 100, absl::Seconds(10)).ok());
      for (uint32_t other = 0; other < 5; ++other) {
        if (other != cut) cluster.CutLink(cut, other);
      }
      for (uint32_t p = first; p < first + 5; ++p) {
        ASSERT_TRUE(cluster.AwaitEnd(p, absl::Seconds(15)).ok());
        const std::vector<Outcome> outcomes = cluster.Outcomes(p);
        ASSERT_GE(outcomes.size(), 2u);
        const Outcome& last = outcomes[outcomes.size() - 2];
        EXPECT_EQ(last.failure, schedule::Failure::kMemberLost);
        EXPECT_EQ(last.cause, schedule::FailureCause::kNodeSilent);
        EXPECT_THAT(last.text, Names(absl::StrCat("rank ", cut, " on node n", cut), "10s"));
      }
    }
  }
}

// Without a planner to decide, each side names the neighbor that it misses, but no rank waits forever.
TEST(SimCutTest, WithoutAPlannerTheSilentNeighbourIsLost) {
  SimCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 2}).ok());
  const CallArguments barrier{.collective = Collective::kBarrier};
  const uint32_t first = cluster.Launch(TeamPrograms("cut", {0, 1}, std::vector<CallArguments>(5000, barrier), 1));
  ASSERT_TRUE(cluster.AwaitOutcomes(first, 10, absl::Seconds(10)).ok());
  cluster.KillPlanner();
  cluster.CutLink(0, 1);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(cluster.AwaitEnd(first + rank, absl::Seconds(15)).ok());
    const std::vector<Outcome> outcomes = cluster.Outcomes(first + rank);
    const Outcome& last = outcomes[outcomes.size() - 2];
    EXPECT_EQ(last.cause, schedule::FailureCause::kNodeSilent);
    EXPECT_THAT(last.text, Names(absl::StrCat("rank ", 1 - rank, " on node n", 1 - rank), "10s"));
  }
}

}  // namespace
}  // namespace copse::scenario
