// SPDX-License-Identifier: Apache-2.0
//
// What becomes of unmodified programs when parts of Copse go away.
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/admin_client.h"

namespace copse::mpi_test {
namespace {

using copse::testing::Names;

constexpr absl::Duration kAskAgain = absl::Milliseconds(20);
// A job's start and end, and what daemons wait for a planner that may be restarting: once.
constexpr absl::Duration kWithoutPlanner = absl::Seconds(25);

class AccidentsTest : public ShimTest {
 protected:
  // Calls `act` in the midst of `run`'s calls, with the path of the pipe that the job has told so by. Returns what its
  // ranks print, too, as errors.
  template <typename Act>
  MpiResult RunAround(MpiRun run, Act act) {
    const std::string pipe = MakePipe(), lines = FilePath("lines");
    MpiResult result;
    run.command.insert(run.command.end(), {lines, pipe});
    std::thread job([&] { result = Run(run, 3 * kDeathPatience); });
    std::string line;
    std::ifstream(pipe) >> line;  // once calls are offloaded
    EXPECT_EQ(line, "going");
    act(pipe);
    job.join();
    const Words printed = LinesOf(lines);
    result.error.insert(result.error.end(), printed.begin(), printed.end());
    return result;
  }
  MpiResult LoseADaemon(MpiRun run) {
    return RunAround(std::move(run), [&](const std::string&) { cluster_.KillDaemon(1); });
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
  const MpiResult next = RunAround(JobOf(2, "situations", {"until_told"}), [&](const std::string& pipe) {
    EXPECT_TRUE(cluster_.RestartPlanner().ok());
    AwaitTeam("mpi-world");
    EXPECT_EQ(unlink(pipe.c_str()), 0);
  });
  EXPECT_EQ(next.code, 0) << next.Text();
  CollectiveCounts broadcasts = ParseStatistics(next)["MPI_Bcast"];
  EXPECT_GT(broadcasts.offloaded, 0u) << next.Text();
  EXPECT_GT(broadcasts.reasons["no team"], 0u) << next.Text();
}

TEST_P(AccidentsTest, CommunicatorsOfOneWithATeamNeedNoPlanner) {
  const MpiResult result = RunAround(JobOf(4, "situations", {"derived_communicators"}), [&](const std::string& pipe) {
    AwaitTeam("mpi-world");
    cluster_.KillPlanner();
    EXPECT_EQ(unlink(pipe.c_str()), 0);
  });
  EXPECT_EQ(result.code, 0) << result.Text();
  CollectiveCounts sums = ParseStatistics(result)["MPI_Allreduce"];
  EXPECT_GT(sums.offloaded, 0u) << result.Text();
  EXPECT_EQ(sums.by_mpi, 0u) << result.Text();
  CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
  EXPECT_EQ(barriers.reasons["no team"], 0u) << result.Text();
  ASSERT_TRUE(cluster_.RestartPlanner().ok());
}

COPSE_BOTH_MPIS(AccidentsTest);
COPSE_ONE_MPI(AccidentsOfOneMpiTest, "mpich");

}  // namespace
}  // namespace copse::mpi_test
