// SPDX-License-Identifier: Apache-2.0
//
// What becomes of unmodified programs when parts of Copse go away.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_job.h"
#include "integration_tests/mpi/shim_fixture.h"

namespace copse::mpi_test {
namespace {

class AccidentsTest : public ShimTest {
 protected:
  // In the midst of `run`'s calls. Returns what its ranks print, too, as errors.
  MpiResult LoseADaemon(MpiRun run) {
    const std::string pipe = absl::StrCat(cluster_.folder(), "/pipe"),
                      lines = absl::StrCat(cluster_.folder(), "/lines");
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    MpiResult result;
    run.command.insert(run.command.end(), {lines, pipe});
    std::thread job([&] { result = Run(run, 3 * kDeathPatience); });
    std::string line;
    std::ifstream(pipe) >> line;  // once calls are offloaded
    EXPECT_EQ(line, "going");
    cluster_.KillDaemon(1);
    job.join();
    std::ifstream stream(lines);
    while (std::getline(stream, line)) result.error.push_back(line);
    return result;
  }
  void ExpectAllWereTold(const MpiResult& result) {
    EXPECT_EQ(result.code, 0) << result.Text();
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(result.ErrorsWith(absl::StrCat("rank ", rank, " was told")).size(), 1u) << result.Text();
    }
  }
};

TEST_P(AccidentsTest, ADaemonThatDiesEndsCallsOnAllRanks) {
  ExpectAllWereTold(LoseADaemon(JobOf(4, "situations", {"until_it_fails"})));
  // A new one serves the next job.
  ASSERT_TRUE(cluster_.RestartDaemon(1).ok());
  const MpiResult next = RunSituation("pending_send");
  ExpectDone(next);
  EXPECT_GT(ParseStatistics(next)["MPI_Barrier"].offloaded, 0u) << next.Text();
}

// By whichever way calls go.
TEST_P(AccidentsTest, WhoHandlesErrorsIsToldOfADaemonThatDies) {
  MpiRun run = JobOf(4, "situations", {"until_it_fails"});
  run.environment.erase("COPSE_MPI_OFFLOAD");
  const MpiResult result = LoseADaemon(std::move(run));
  ExpectAllWereTold(result);
  EXPECT_FALSE(result.ErrorsWith("measured beside Copse").empty()) << result.Text();
}

// Who handles errors may have gone elsewhere with one: others do not wait for it by MPI.
TEST_P(AccidentsTest, NobodyWaitsByMpiForARankThatHasGoneElsewhere) {
  MpiRun run = JobOf(4, "situations", {"left_alone"});
  run.environment.erase("COPSE_MPI_OFFLOAD");
  const MpiResult result = LoseADaemon(std::move(run));
  ExpectAllWereTold(result);
  EXPECT_EQ(ParseStatistics(result)["MPI_Barrier"].reasons["measured beside Copse"], 3u)
      << "of rank 0; " << result.Text();
  EXPECT_EQ(result.ErrorsWith("MPI_Barrier: copse: team_ping: ").size(), 3u) << result.Text();
}

// Even where calls go by MPI when it dies, as is faster.
TEST_P(AccidentsTest, ADaemonThatDiesIsNoticedWhenCallsAreMeasuredAgain) {
  MpiRun run = JobOf(4, "situations", {"until_it_ends"});
  run.environment.erase("COPSE_MPI_OFFLOAD");
  const MpiResult result = LoseADaemon(std::move(run));
  EXPECT_NE(result.code, 0) << result.Text();
  EXPECT_FALSE(result.ErrorsWith("on team mpi-world").empty()) << result.Text();
  EXPECT_TRUE(result.ErrorsWith("was told").empty()) << result.Text();
}

TEST_P(AccidentsTest, WithoutAPlannerProgramsRunOnMpi) {
  cluster_.KillPlanner();
  MpiRun run = JobOf(2, "situations", {"pending_send"});
  const MpiResult result = Run(run);
  ExpectDone(result);
  EXPECT_GT(ParseStatistics(result)["MPI_Barrier"].reasons["no team"], 0u) << result.Text();
  EXPECT_EQ(result.ErrorsWith("copse-mpi: a communicator stays with MPI: ").size(), 1u) << result.Text();
  ASSERT_TRUE(cluster_.RestartPlanner().ok());
}

INSTANTIATE_TEST_SUITE_P(Both, AccidentsTest, testing::Values("mpich", "openmpi"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace copse::mpi_test
