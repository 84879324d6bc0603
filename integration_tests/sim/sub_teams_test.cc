// SPDX-License-Identifier: Apache-2.0
//
// Sub-teams that daemons form among themselves, on a simulated cluster: with and without a planner, and under faults.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/prng.h"
#include "gtest/gtest.h"
#include "integration_tests/sim/sim_cluster.h"
#include "testbed/script/script.h"

namespace copse::scenario {
namespace {

using schedule::Failure;

constexpr uint32_t kNodes = 4;
constexpr uint32_t kRanks = 8;  // two a node
constexpr absl::Duration kLong = absl::Minutes(5);
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kInt64, .count = 6};
const std::vector<uint32_t> kAll = {0, 1, 2, 3, 4, 5, 6, 7};
const std::vector<uint32_t> kOdd = {7, 5, 3, 1};

Step SubTeamStep(uint32_t team, std::vector<uint32_t> members) {
  return {.kind = StepKind::kSubTeam, .team = team, .parent = 0, .members = std::move(members)};
}

class SimSubTeamsTest : public testing::Test {
 protected:
  void Start(ClusterOptions options = {}) {
    options.nodes = kNodes;
    cluster_ = MakeSimCluster();
    ASSERT_TRUE(cluster_->Start(options).ok());
  }

  // Runs the steps on all ranks, behind a team of all, which every rank calls first.
  void Launch(const std::function<Script(uint32_t)>& steps) {
    std::vector<Program> programs;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      Script script = {TeamStep(0, "parent", rank, kRanks), CallStep(0, kSum, 1)};
      for (const Step& step : steps(rank)) script.push_back(step);
      programs.push_back({rank / 2, std::move(script)});
    }
    first_ = cluster_->Launch(programs);
  }
  void AwaitParent() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2, kLong).ok());
    }
    cluster_->Pass(absl::Seconds(2));  // the planner has heard all, and the root has ids
  }
  void AwaitEnds() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) ASSERT_TRUE(cluster_->AwaitEnd(first_ + rank, kLong).ok()) << rank;
  }
  void ExpectSuccess() {
    AwaitEnds();
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      for (const Outcome& outcome : cluster_->Outcomes(first_ + rank)) {
        EXPECT_EQ(outcome.text, "") << rank;
        EXPECT_TRUE(outcome.data_ok) << rank;
      }
    }
  }
  // Returns the sum of the counter over all daemons.
  uint64_t Count(const std::string& counter) {
    uint64_t sum = 0;
    for (uint32_t node = 0; node < kNodes; ++node) sum += cluster_->status(node).counters.at(counter);
    return sum;
  }
  uint64_t FormedByDaemons() { return Count("daemon.sub_teams.formed"); }
  uint64_t PlannerTeams() { return cluster_->Gauges(0)->at("planner.teams"); }

  std::unique_ptr<SimCluster> cluster_;
  uint32_t first_ = 0;
};

TEST_F(SimSubTeamsTest, DuplicateIsFormedByDaemonsAndListed) {
  Start();
  Launch([](uint32_t) {
    return Script{PauseStep(absl::Seconds(5)),
                  SubTeamStep(1, kAll),
                  CallStep(1, kSum, 2),
                  CallStep(1, {.collective = Collective::kGather, .type = ElementType::kInt32, .count = 3}, 3),
                  PauseStep(absl::Seconds(5)),
                  DestroyStep(1),
                  DestroyStep(0)};
  });
  AwaitParent();
  EXPECT_TRUE(cluster_->AwaitTeamPhase("parent/0", TeamPhase::kDecided, kLong).ok());
  ExpectSuccess();
  EXPECT_EQ(FormedByDaemons(), kNodes);
  cluster_->Pass(absl::Seconds(2));
  EXPECT_EQ(PlannerTeams(), 0u);
}

TEST_F(SimSubTeamsTest, DuplicatesAreFormedWithoutAPlanner) {
  Start();
  Launch([](uint32_t) {
    Script script = {PauseStep(absl::Seconds(20))};
    for (uint32_t team = 1; team <= 20; ++team) {
      script.push_back(SubTeamStep(team, kAll));
      script.push_back(CallStep(team, kSum, team));
      if (team % 2 == 0) script.push_back(DestroyStep(team));
    }
    script.push_back(PauseStep(absl::Minutes(2)));  // the planner is back meanwhile
    for (uint32_t team = 1; team <= 20; team += 2) script.push_back(DestroyStep(team));
    script.push_back(DestroyStep(0));
    return script;
  });
  AwaitParent();
  cluster_->KillPlanner();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2 + 20 * 2 + 10, absl::Seconds(25)).ok());
  }
  EXPECT_EQ(FormedByDaemons(), 20 * kNodes);
  ASSERT_TRUE(cluster_->RestartPlanner().ok());
  cluster_->Pass(absl::Seconds(2));
  EXPECT_EQ(PlannerTeams(), 11u);
  EXPECT_TRUE(cluster_->AwaitTeamPhase("parent/18", TeamPhase::kDecided, absl::Seconds(1)).ok());
  ExpectSuccess();
  cluster_->Pass(absl::Seconds(2));
  EXPECT_EQ(PlannerTeams(), 0u);
}

// The sub-team of a sub-team that daemons have formed.
TEST_F(SimSubTeamsTest, DuplicatesHaveDuplicates) {
  Start();
  Launch([](uint32_t) {
    Script script = {PauseStep(absl::Seconds(20)), SubTeamStep(1, kAll)};
    script.push_back(SubTeamStep(2, kAll));
    script.back().parent = 1;
    for (const Step& step : {CallStep(2, kSum, 1), DestroyStep(1), DestroyStep(2), DestroyStep(0)})
      script.push_back(step);
    return script;
  });
  AwaitParent();
  cluster_->KillPlanner();
  ExpectSuccess();
  EXPECT_EQ(FormedByDaemons(), 2 * kNodes);
}

// The root of a split was never the root of a team before the planner went away.
TEST_F(SimSubTeamsTest, SplitsHaveSubTeamsWithoutAPlanner) {
  Start();
  Launch([](uint32_t rank) {
    Script script = {PauseStep(absl::Seconds(20)), SubTeamStep(1, {4, 5, 6, 7})};
    if (rank >= 4) {
      for (const auto& [team, members] : std::map<uint32_t, std::vector<uint32_t>>{{2, {0, 1, 2, 3}}, {3, {3, 1}}}) {
        script.push_back(SubTeamStep(team, members));
        script.back().parent = 1;
        if (team == 2 || rank % 2 == 1) script.push_back(CallStep(team, kSum, team));
      }
    }
    script.push_back(CallStep(0, kSum, 2));
    return script;
  });
  AwaitParent();
  cluster_->KillPlanner();
  ExpectSuccess();
  EXPECT_EQ(FormedByDaemons(), 3u * 2);
  EXPECT_EQ(Count("daemon.sub_teams.by_planner"), 0u);
}

TEST_F(SimSubTeamsTest, SplitOfAKnownShapeIsFormedWithoutAPlanner) {
  Start();
  Launch([](uint32_t rank) {
    Script script = {SubTeamStep(1, kOdd)};
    if (rank % 2 == 1) script.push_back(CallStep(1, {.collective = Collective::kBarrier}, 0));
    script.push_back(PauseStep(absl::Seconds(20)));
    script.push_back(SubTeamStep(2, kOdd));
    if (rank % 2 == 1) {
      for (const Step& step : {CallStep(2, {.collective = Collective::kBarrier}, 0), DestroyStep(1), DestroyStep(2)}) {
        script.push_back(step);
      }
    }
    script.push_back(DestroyStep(0));
    return script;
  });
  AwaitParent();
  EXPECT_EQ(FormedByDaemons(), 0u);
  EXPECT_GT(Count("daemon.sub_teams.by_planner"), 0u);
  cluster_->KillPlanner();
  ExpectSuccess();
  EXPECT_EQ(FormedByDaemons(), kNodes);
}

// By parity, which needs edges that the parent does not have, and by node.
TEST_F(SimSubTeamsTest, SplitsOfUnknownShapesAreFormedWithoutAPlanner) {
  Start();
  Launch([](uint32_t rank) {
    Script script = {PauseStep(absl::Seconds(20))};
    uint32_t team = 0;
    const auto form = [&](const std::vector<uint32_t>& members) {
      script.push_back(SubTeamStep(++team, members));
      if (std::find(members.begin(), members.end(), rank) == members.end()) return;
      script.push_back(CallStep(team, kSum, team));
      script.push_back(CallStep(team, {.collective = Collective::kBcast, .count = 100'000, .root = 1}, team));
    };
    form(kOdd);
    form({0, 2, 4, 6});
    for (uint32_t node = 0; node < kNodes; ++node) form({2 * node, 2 * node + 1});
    script.push_back(PauseStep(absl::Minutes(1)));  // the planner is back meanwhile
    if (rank % 2 == 1) {
      const CallArguments gather{.collective = Collective::kGather, .type = ElementType::kInt32, .count = 3};
      script.push_back(CallStep(1, gather, 3));
      script.push_back(DestroyStep(1));
    }
    if (rank % 2 == 0) script.push_back(DestroyStep(2));
    script.push_back(DestroyStep(3 + rank / 2));
    script.push_back(DestroyStep(0));
    return script;
  });
  AwaitParent();
  cluster_->KillPlanner();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2 + 6 + 4, absl::Seconds(25)).ok());
  }
  EXPECT_EQ(FormedByDaemons(), 3 * kNodes);
  EXPECT_EQ(Count("daemon.sub_teams.by_planner"), 0u);
  ASSERT_TRUE(cluster_->RestartPlanner().ok());
  cluster_->Pass(absl::Seconds(3));
  EXPECT_EQ(PlannerTeams(), 1u + 2 + kNodes);
  ExpectSuccess();
  cluster_->Pass(absl::Seconds(2));
  EXPECT_EQ(PlannerTeams(), 0u);
}

// Plans that were made without the planner are not kept for its return.
TEST_F(SimSubTeamsTest, PlannerMakesThePlansOfAShapeWhenItIsBack) {
  Start();
  Launch([](uint32_t rank) {
    Script script = {PauseStep(absl::Seconds(20)), SubTeamStep(1, kOdd), PauseStep(absl::Minutes(1)),
                     SubTeamStep(2, kOdd), SubTeamStep(3, kOdd)};
    if (rank % 2 == 1) {
      for (uint32_t team = 1; team <= 3; ++team) script.push_back(CallStep(team, kSum, team));
    }
    script.push_back(CallStep(0, kSum, 2));
    return script;
  });
  AwaitParent();
  cluster_->KillPlanner();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 3, absl::Seconds(25)).ok());
  }
  EXPECT_EQ(FormedByDaemons(), kNodes);
  ASSERT_TRUE(cluster_->RestartPlanner().ok());
  ExpectSuccess();
  EXPECT_EQ(FormedByDaemons(), 2 * kNodes);
  EXPECT_GT(Count("daemon.sub_teams.by_planner"), 0u);
}

TEST_F(SimSubTeamsTest, DaemonsWithoutTheFeatureAskThePlanner) {
  Start({.sub_teams = false});
  Launch([](uint32_t) { return Script{SubTeamStep(1, kAll), CallStep(1, kSum, 1), DestroyStep(1), DestroyStep(0)}; });
  ExpectSuccess();
  EXPECT_EQ(FormedByDaemons(), 0u);
}

// Teams are made until a daemon has no memory left: the attempt fails alike at all ranks, and the others go on.
TEST_F(SimSubTeamsTest, RefusalFailsAllRanksAlike) {
  constexpr uint32_t kTeams = 40;
  Start({.memory_limit_bytes = 64u << 20});
  Launch([](uint32_t) {
    Script script;
    for (uint32_t team = 1; team <= kTeams; ++team) script.push_back(SubTeamStep(team, kAll));
    script.push_back(CallStep(1, kSum, 1));
    script.push_back(CallStep(0, kSum, 2));
    return script;
  });
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2 + kTeams + 2, kLong).ok());
  }
  const std::vector<Outcome> expected = cluster_->Outcomes(first_);
  uint32_t failed = 0;
  for (uint32_t i = 0; i < expected.size(); ++i) failed += expected[i].failure != Failure::kNone ? 1 : 0;
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, kTeams);
  EXPECT_EQ(expected[2 + kTeams], Outcome());
  EXPECT_EQ(expected[2 + kTeams + 1], Outcome());
  for (uint32_t rank = 1; rank < kRanks; ++rank) EXPECT_EQ(cluster_->Outcomes(first_ + rank), expected) << rank;
}

TEST_F(SimSubTeamsTest, RanksThatDoNotJoinAreNamed) {
  Start();
  Launch([](uint32_t rank) {
    Script script;
    if (rank != 5) script.push_back(SubTeamStep(1, kAll));
    if (rank == 5) script.push_back(PauseStep(absl::Minutes(2)));
    script.push_back(CallStep(0, kSum, 1));
    return script;
  });
  AwaitEnds();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    if (rank == 5) continue;
    const Outcome outcome = cluster_->Outcomes(first_ + rank)[2];
    EXPECT_EQ(outcome.failure, Failure::kTimedOut) << outcome.text;
    EXPECT_NE(outcome.text.find("1 of 8"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find(": 5"), std::string::npos) << outcome.text;
    EXPECT_EQ(cluster_->Outcomes(first_ + rank)[3], Outcome());
  }
}

TEST_F(SimSubTeamsTest, MembersThatDisagreeFailAlike) {
  Start();
  Launch([](uint32_t rank) {
    std::vector<uint32_t> members = kAll;
    if (rank == 7) members.pop_back();
    if (rank == 7) members[0] = 7;  // it says that it is rank 0 of 7
    return Script{SubTeamStep(1, members), CallStep(0, kSum, 1)};
  });
  AwaitEnds();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(cluster_->Outcomes(first_ + rank)[2].failure, Failure::kMismatch) << rank;
    EXPECT_EQ(cluster_->Outcomes(first_ + rank)[2].text, cluster_->Outcomes(first_)[2].text);
    EXPECT_EQ(cluster_->Outcomes(first_ + rank)[3], Outcome());
  }
}

// Some ranks leave a duplicate without a call that the others make: a wrong program, which must end as it does with a
// team that the planner has formed.
class LeaversTest : public SimSubTeamsTest {
 protected:
  // Returns why outcomes of each rank failed, by number. `leavers` destroy the duplicate at once, or after `pause`.
  std::vector<std::map<size_t, FailureCause>> Run(bool by_daemons, std::set<uint32_t> leavers,
                                                  const CallArguments& call, absl::Duration pause) {
    Start({.sub_teams = by_daemons});
    Launch([&](uint32_t rank) {
      Script script = {PauseStep(absl::Seconds(5)), SubTeamStep(1, kAll)};
      if (leavers.contains(rank)) {
        script.push_back(PauseStep(pause));
      } else {
        script.push_back(CallStep(1, call, 1));
      }
      for (const Step& step : {DestroyStep(1), CallStep(0, kSum, 2), DestroyStep(0)}) script.push_back(step);
      return script;
    });
    AwaitParent();
    AwaitEnds();
    EXPECT_EQ(FormedByDaemons(), by_daemons ? kNodes : 0);
    std::vector<std::map<size_t, FailureCause>> failures(kRanks);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::vector<Outcome> outcomes = cluster_->Outcomes(first_ + rank);
      for (size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].failure == Failure::kNone) continue;
        failures[rank][i] = outcomes[i].cause;
      }
    }
    cluster_->Pass(absl::Seconds(20));
    EXPECT_EQ(PlannerTeams(), 0u);
    return failures;
  }
};

TEST_F(LeaversTest, CallThatTheyDoNotMakeFailsAsInAnyTeam) {
  const CallArguments gather{.collective = Collective::kGather, .type = ElementType::kInt32, .count = 3};
  for (const CallArguments& call : {kSum, gather}) {
    for (const std::set<uint32_t>& leavers : {std::set<uint32_t>{7}, {6, 7}, {0, 1}, {3, 4}}) {
      for (const absl::Duration pause : {absl::ZeroDuration(), absl::Seconds(1)}) {
        SCOPED_TRACE(absl::StrCat(call.collective == kSum.collective ? "sum" : "gather", " without ",
                                  absl::StrJoin(leavers, ", "), ", pause ", absl::FormatDuration(pause)));
        const auto by_planner = Run(false, leavers, call, pause);
        const auto by_daemons = Run(true, leavers, call, pause);
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
          EXPECT_EQ(by_daemons[rank], by_planner[rank]) << rank;
          if (leavers.contains(rank)) {
            EXPECT_TRUE(by_daemons[rank].empty()) << rank;
          }
        }
      }
    }
  }
}

// A rank's process, or a node's daemon, dies at some moment of a storm of duplicates: those that remain fail for that
// reason, and nobody waits for ever.
class FaultsTest : public SimSubTeamsTest, public testing::WithParamInterface<uint64_t> {};
TEST_P(FaultsTest, EndEveryFormation) {
  const uint64_t seed = GetParam();
  Start({.seed = seed});
  Launch([](uint32_t) {
    Script script;
    for (uint32_t team = 1; team <= 12; ++team) {
      script.push_back(SubTeamStep(team, kAll));
      script.push_back(CallStep(team, kSum, team));
      if (team % 3 != 0) script.push_back(DestroyStep(team));
    }
    return script;
  });
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2, kLong).ok());
  }
  const bool has_planner = seed % 3 != 0;
  if (!has_planner) cluster_->KillPlanner();
  if (seed % 5 == 0) {
    ASSERT_TRUE(cluster_->DisturbData(true).ok());
  }
  cluster_->Pass(absl::Microseconds(7 * seed));
  const auto victim = static_cast<uint32_t>(seed % kNodes);
  if (seed % 2 == 0) {
    cluster_->KillDaemon(victim);
  } else {
    cluster_->KillProcess(first_ + 2 * victim);
  }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitEnd(first_ + rank, kLong).ok()) << rank;
    if (rank / 2 == victim) continue;
    for (const Outcome& outcome : cluster_->Outcomes(first_ + rank)) {
      if (outcome.failure == Failure::kNone) continue;
      EXPECT_TRUE(outcome.failure == Failure::kMemberLost || outcome.failure == Failure::kInvalidArgument)
          << static_cast<int>(outcome.failure) << outcome.text;
    }
  }
  if (!has_planner) {
    ASSERT_TRUE(cluster_->RestartPlanner().ok());
  }
  cluster_->Pass(absl::Seconds(5));
}
INSTANTIATE_TEST_SUITE_P(Seeds, FaultsTest, testing::Range(uint64_t{1}, uint64_t{121}));

// The planner comes and goes while sub-teams are formed.
class AwayTest : public SimSubTeamsTest, public testing::WithParamInterface<uint64_t> {};
TEST_P(AwayTest, PlannerKnowsTheTeamsThatRemain) {
  const uint64_t seed = GetParam();
  Start({.seed = seed});
  Launch([](uint32_t) {
    Script script;
    for (uint32_t team = 1; team <= 40; ++team) {
      script.push_back(SubTeamStep(team, kAll));
      script.push_back(CallStep(team, kSum, team));
      if (team % 4 != 0) script.push_back(DestroyStep(team));
    }
    script.push_back(PauseStep(absl::Minutes(1)));
    for (uint32_t team = 4; team <= 40; team += 4) script.push_back(DestroyStep(team));
    script.push_back(DestroyStep(0));
    return script;
  });
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2, kLong).ok());
  }
  for (uint64_t i = 0; i < 3; ++i) {
    cluster_->Pass(absl::Microseconds(90 * (seed + i)));
    if (i != seed % 3) {
      ASSERT_TRUE(cluster_->RestartPlanner().ok());
    } else {
      ASSERT_TRUE(cluster_->ResetManagementLink(static_cast<uint32_t>(seed % kNodes)).ok());
    }
  }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2 + 80 + 30, kLong).ok());
  }
  cluster_->Pass(absl::Seconds(10));
  EXPECT_EQ(PlannerTeams(), 11u);
  ExpectSuccess();
  cluster_->Pass(absl::Seconds(10));
  EXPECT_EQ(PlannerTeams(), 0u);
  for (uint32_t node = 0; node < kNodes; ++node) EXPECT_EQ(cluster_->Gauges(node)->at("teams"), 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, AwayTest, testing::Range(uint64_t{1}, uint64_t{31}));

// Random parts of the parent, in random order, while the planner comes and goes. What it forms when it dies may fail.
class RandomSplitsTest : public SimSubTeamsTest, public testing::WithParamInterface<uint64_t> {
 protected:
  static constexpr uint32_t kTeams = 24;

  RandomSplitsTest() : prng_(GetParam()) {
    for (uint32_t team = 1; team <= kTeams; ++team) {
      for (uint32_t i = kRanks; i > 1; --i) std::swap(teams_[team][i - 1], teams_[team][prng_.Below(i)]);
      teams_[team].resize(1 + prng_.Below(kRanks));
      pauses_[team] = absl::Milliseconds(prng_.Below(30));
    }
  }
  bool IsMember(uint32_t rank, uint32_t team) const {
    return std::find(teams_[team].begin(), teams_[team].end(), rank) != teams_[team].end();
  }
  // Returns the rank's script, and fills in the numbers of the outcomes of its calls.
  Script ScriptOf(uint32_t rank) {
    Script script, ends;
    size_t outcomes = 2;
    for (uint32_t team = 1; team <= kTeams; ++team) {
      script.push_back(PauseStep(pauses_[team]));
      script.push_back(SubTeamStep(team, teams_[team]));
      ++outcomes;
      if (!IsMember(rank, team)) continue;
      script.push_back(CallStep(team, kSum, team));
      calls_[rank][team] = outcomes++;
      if (team % 3 == 0) {
        ends.push_back(DestroyStep(team));
      } else {
        script.push_back(DestroyStep(team));
        ++outcomes;
      }
    }
    outcomes_[rank] = outcomes;
    script.push_back(PauseStep(absl::Minutes(1)));
    for (const Step& step : ends) script.push_back(step);
    script.push_back(DestroyStep(0));
    return script;
  }
  // Returns whether the team's first call has succeeded at all members; it must have failed at all others.
  bool IsFormed(uint32_t team) {
    size_t succeeded = 0;
    for (const uint32_t rank : teams_[team]) {
      succeeded += cluster_->Outcomes(first_ + rank)[calls_[rank][team]] == Outcome() ? 1 : 0;
    }
    EXPECT_TRUE(succeeded == 0 || succeeded == teams_[team].size()) << team << ": " << succeeded;
    return succeeded != 0;
  }

  Prng prng_;
  std::vector<std::vector<uint32_t>> teams_ = std::vector<std::vector<uint32_t>>(kTeams + 1, kAll);
  std::vector<absl::Duration> pauses_ = std::vector<absl::Duration>(kTeams + 1);
  std::map<uint32_t, size_t> calls_[kRanks];
  size_t outcomes_[kRanks] = {};
};
TEST_P(RandomSplitsTest, AreFormedByAllMembersOrNone) {
  Start({.seed = GetParam()});
  Launch([this](uint32_t rank) { return ScriptOf(rank); });
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, 2, kLong).ok());
  }
  for (int i = 0; i < 3; ++i) {
    cluster_->Pass(absl::Microseconds(prng_.Below(100'000)));
    cluster_->KillPlanner();
    cluster_->Pass(absl::Microseconds(prng_.Below(100'000)));
    ASSERT_TRUE(cluster_->RestartPlanner().ok());
  }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(cluster_->AwaitOutcomes(first_ + rank, outcomes_[rank], absl::Seconds(50)).ok()) << rank;
  }
  cluster_->Pass(absl::Seconds(5));
  uint32_t formed = 0, kept = 0;
  for (uint32_t team = 1; team <= kTeams; ++team) {
    const bool is_formed = IsFormed(team);
    formed += is_formed ? 1 : 0;
    kept += is_formed && team % 3 == 0 ? 1 : 0;
  }
  EXPECT_GE(formed, kTeams - 3);
  EXPECT_EQ(PlannerTeams(), 1u + kept);
  AwaitEnds();
  cluster_->Pass(absl::Seconds(10));
  EXPECT_EQ(PlannerTeams(), 0u);
  for (uint32_t node = 0; node < kNodes; ++node) EXPECT_EQ(cluster_->Gauges(node)->at("teams"), 0u);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomSplitsTest, testing::Range(uint64_t{1}, uint64_t{61}));

}  // namespace
}  // namespace copse::scenario
