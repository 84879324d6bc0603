// SPDX-License-Identifier: Apache-2.0
//
// What becomes of unmodified programs when parts of Copse go away.
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/admin_client.h"

namespace copse::mpi_test {
namespace {

using copse::testing::IsOk;
using copse::testing::Names;

constexpr absl::Duration kAskAgain = absl::Milliseconds(20);
// A job's start and end, and what daemons wait for a planner that may be restarting: once.
constexpr absl::Duration kWithoutPlanner = absl::Seconds(25);

class AccidentsTest : public ShimTest {
 protected:
  explicit AccidentsTest(uint32_t nodes = kNodes) : ShimTest(nodes) {}

  // Calls `acts`, one after the other, each in the midst of `run`'s calls. The job has a pipe for each, by which it
  // says that it is there, and which is gone when the act is done. Returns what its ranks print, too, as errors.
  MpiResult RunAround(MpiRun run, const std::vector<std::function<void()>>& acts) {
    const std::string lines = FilePath("lines");
    Words pipes;
    for (size_t i = 0; i < acts.size(); ++i) pipes.push_back(MakePipe(absl::StrCat("pipe", i)));
    run.command.push_back(lines);
    run.command.insert(run.command.end(), pipes.begin(), pipes.end());
    MpiResult result;
    std::thread job([&] { result = Run(run, acts.size() == 1 ? 3 * kDeathPatience : kPatience); });
    for (size_t i = 0; i < acts.size(); ++i) {
      std::string line;
      std::ifstream(pipes[i]) >> line;  // once calls are offloaded
      EXPECT_EQ(line, "going");
      acts[i]();
      EXPECT_EQ(unlink(pipes[i].c_str()), 0);
    }
    job.join();
    const Words printed = LinesOf(lines);
    result.error.insert(result.error.end(), printed.begin(), printed.end());
    return result;
  }
  MpiResult LoseADaemon(MpiRun run) {
    return RunAround(std::move(run), {[&] { cluster_.KillDaemon(1); }});
  }
  // The planner is back, and has formed it.
  void AwaitTeam(const std::string& name) {
    const absl::Time deadline = absl::Now() + kPatience;
    for (; absl::Now() < deadline; cluster_.Pass(kAskAgain)) {
      const auto teams = cluster_.admin().ListTeams(kDeathPatience);
      for (int i = 0; teams.ok() && i < teams->teams_size(); ++i) {
        if (teams->teams(i).name() == name && teams->teams(i).state() == "ready") return;
      }
    }
    ADD_FAILURE() << "no team " << name;
  }
};

TEST_P(AccidentsTest, ADaemonThatDiesEndsCallsOnAllRanks) {
  ExpectAllWereTold(LoseADaemon(JobOf(4, "situations", {"until_it_fails"})));
  // A new one serves the next job.
  ASSERT_TRUE(cluster_.RestartDaemon(1).ok());
  const MpiResult next = ExpectDone(RunSituation("pending_send"));
  EXPECT_GT(ParseStatistics(next)["MPI_Barrier"].offloaded, 0u) << next.Text();
}

// Nobody waits by MPI for a rank that has gone elsewhere with its error: all calls go to the daemons.
TEST_P(AccidentsTest, WhoHandlesErrorsIsToldOfADaemonThatDies) {
  const MpiResult result = LoseADaemon(JobByChoice("until_it_fails", 4));
  ExpectAllWereTold(result);
  EXPECT_TRUE(result.ErrorsWith("faster by MPI").empty()) << result.Text();
  EXPECT_TRUE(result.ErrorsWith("measured beside Copse").empty()) << result.Text();
}

// Even where calls go by MPI when it dies, as is faster.
TEST_P(AccidentsTest, ADaemonThatDiesIsNoticedWhenCallsAreMeasuredAgain) {
  const MpiResult result = LoseADaemon(JobByChoice("until_it_ends", 4));
  EXPECT_NE(result.code, 0) << result.Text();
  EXPECT_FALSE(result.ErrorsWith("copse-mpi: MPI_Barrier: copse: ").empty()) << result.Text();
  EXPECT_TRUE(result.ErrorsWith("was told").empty()) << result.Text();
}

// The time is that of daemons.
class AccidentsOfOneMpiTest : public AccidentsTest {};

TEST_P(AccidentsOfOneMpiTest, WithoutAPlannerProgramsRunOnMpi) {
  cluster_.KillPlanner();
  // Four communicators wait for it at most once.
  const absl::Time start = absl::Now();
  const MpiResult result = Run(JobOf(2, "situations", {"calls_on_dups"}));
  EXPECT_LT(absl::Now() - start, kWithoutPlanner);
  ExpectDone(result);
  CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
  EXPECT_EQ(barriers.offloaded, 0u) << result.Text();
  EXPECT_EQ(barriers.reasons["first calls"] + barriers.reasons["no team"], barriers.by_mpi) << result.Text();
  const Words said = result.ErrorsWith("(node=n0");
  ASSERT_EQ(said.size(), 1u) << result.Text();
  EXPECT_THAT(said[0], Names("copse-mpi: ", "ranks=2"));
  // What was waited for is not the MPI's.
  const Words teams = result.ErrorsWith("copse-mpi: teams: ");
  ASSERT_EQ(teams.size(), 1u) << result.Text();
  EXPECT_THAT(teams[0], Names("0 in 0.000000 s"));
  // By now it is away for so long that daemons answer at once, and a job finds it when it is back.
  const MpiResult next = RunAround(JobOf(2, "situations", {"until_told"}), {[&] {
                                     EXPECT_TRUE(cluster_.RestartPlanner().ok());
                                     AwaitTeam("mpi-world");
                                   }});
  EXPECT_EQ(next.code, 0) << next.Text();
  CollectiveCounts broadcasts = ParseStatistics(next)["MPI_Bcast"];
  EXPECT_GT(broadcasts.offloaded, 0u) << next.Text();
  EXPECT_GT(broadcasts.reasons["no team"], 0u) << next.Text();
}

TEST_P(AccidentsTest, CommunicatorsOfOneWithATeamNeedNoPlanner) {
  const MpiResult result = RunAround(JobOf(4, "situations", {"derived_communicators"}), {[&] {
                                       AwaitTeam("mpi-world");
                                       cluster_.KillPlanner();
                                     }});
  EXPECT_EQ(result.code, 0) << result.Text();
  CollectiveCounts sums = ParseStatistics(result)["MPI_Allreduce"];
  EXPECT_GT(sums.offloaded, 0u) << result.Text();
  EXPECT_EQ(sums.by_mpi, 0u) << result.Text();
  CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
  EXPECT_EQ(barriers.reasons["no team"], 0u) << result.Text();
  ASSERT_TRUE(cluster_.RestartPlanner().ok());
}

// Communicators of eight ranks on four nodes, made and freed by MPI_Comm_split and MPI_Comm_dup while the planner is
// away.
class SplitsTest : public AccidentsTest {
 protected:
  static constexpr uint32_t kSplitNodes = 4, kRanks = 8;
  // Limit of the time until the planner lists what daemons run.
  static constexpr absl::Duration kListed = absl::Minutes(1);
  using Count = std::map<std::string, uint64_t>;

  SplitsTest() : AccidentsTest(kSplitNodes) {}

  // The planner lists so many teams of communicators, all of them ready, and that of MPI_COMM_WORLD.
  void AwaitTeams(int count) {
    std::string seen;
    for (const absl::Time deadline = absl::Now() + kListed; absl::Now() < deadline; cluster_.Pass(kAskAgain)) {
      const auto teams = cluster_.admin().ListTeams(kDeathPatience);
      if (!teams.ok()) continue;
      Count names;
      for (const auto& team : teams->teams()) ++names[absl::StrCat(team.name(), " ", team.state())];
      if (names == WithWorld(count)) return;
      seen = absl::StrJoin(names, ", ", absl::PairFormatter("="));
    }
    ADD_FAILURE() << "teams of " << count << " communicators were not listed: " << seen;
  }
  static Count WithWorld(int count) {
    Count names = {{"mpi-world ready", 1}};
    if (count > 0) names["mpi-communicator ready"] = count;
    return names;
  }
  // Returns what the nodes hold now, of each gauge the sum.
  Count Held() {
    Count held;
    for (uint32_t node = 0; node < kSplitNodes; ++node) {
      const auto gauges = cluster_.Gauges(node);
      EXPECT_THAT(gauges, IsOk());
      if (!gauges.ok()) continue;
      for (const auto& [name, value] : *gauges) held[name] += value;
    }
    return held;
  }
  uint64_t SumsByDaemons() {
    uint64_t sums = 0;
    for (uint32_t node = 0; node < kSplitNodes; ++node) {
      const auto stats = cluster_.admin().GetStats(cluster_.NodeName(node), kDeathPatience);
      EXPECT_THAT(stats, IsOk());
      if (stats.ok()) sums += stats->stats(0).counters().at("calls.allreduce.ok");
    }
    return sums;
  }
  // All calls of the communicators' teams went by the daemons, which hold nothing of them any more.
  void RunSplits(const std::string& situation, const std::vector<std::function<void()>>& acts) {
    ExpectDone(RunSituation("pending_send", kRanks));  // what daemons make once, they have made
    const Count before = Held();
    const uint64_t sums_before = SumsByDaemons();
    const MpiResult result = RunAround(JobOf(kRanks, "situations", {situation}), acts);
    EXPECT_EQ(result.code, 0) << result.Text();
    uint64_t sums = 0, first_sums = 0;
    for (const std::string& line : result.ErrorsWith("made sums=")) {
      uint64_t made = 0;
      EXPECT_TRUE(absl::SimpleAtoi(line.substr(line.find('=') + 1), &made)) << line;
      sums += made;
      if (absl::StartsWith(line, "rank 0 ")) first_sums = made;
    }
    EXPECT_GT(first_sums, 0u) << result.Text();
    EXPECT_EQ(SumsByDaemons() - sums_before, sums) << result.Text();
    CollectiveCounts counts = ParseStatistics(result)["MPI_Allreduce"];
    EXPECT_EQ(counts.offloaded, first_sums) << result.Text();
    EXPECT_EQ(counts.by_mpi, 0u) << result.Text();
    Count after = Held();
    for (const absl::Time deadline = absl::Now() + kDeathPatience; after != before && absl::Now() < deadline;) {
      cluster_.Pass(kAskAgain);
      after = Held();
    }
    EXPECT_EQ(after, before);
  }
};

constexpr int kCommunicators = 24;  // of situations.c's make_groups, for eight ranks

TEST_P(SplitsTest, DaemonsMakePlansForSplitsWhileThereIsNoPlanner) {
  RunSplits("splits_of_new_shapes", {[&] {
                                       AwaitTeams(0);
                                       cluster_.KillPlanner();
                                     },
                                     [&] {
                                       EXPECT_TRUE(cluster_.RestartPlanner().ok());
                                       AwaitTeams(kCommunicators);
                                     },
                                     [&] { AwaitTeams(0); }});
}

TEST_P(SplitsTest, DaemonsFormSplitsLikeEarlierOnesWhileThePlannerIsStopped) {
  RunSplits("splits_of_known_shapes", {[&] {
                                         AwaitTeams(0);
                                         cluster_.StopPlanner();
                                       },
                                       [&] {
                                         cluster_.ContinuePlanner();
                                         AwaitTeams(kCommunicators);
                                       },
                                       [&] { AwaitTeams(0); }});
}

// The time is that of many communicators' first calls, by MPI.
class SplitsOfOneMpiTest : public SplitsTest {};

TEST_P(SplitsOfOneMpiTest, ThePlannerComesBackInAStormOfSplits) {
  RunSplits("splits_storm", {[&] {
                               AwaitTeams(0);
                               cluster_.KillPlanner();
                             },
                             [&] { EXPECT_TRUE(cluster_.RestartPlanner().ok()); }, [&] { AwaitTeams(0); }});
}

COPSE_BOTH_MPIS(AccidentsTest);
COPSE_BOTH_MPIS(SplitsTest);
COPSE_ONE_MPI(SplitsOfOneMpiTest, "openmpi");
COPSE_ONE_MPI(AccidentsOfOneMpiTest, "mpich");

}  // namespace
}  // namespace copse::mpi_test
