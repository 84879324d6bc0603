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
  // In the midst of `run`'s calls, which report to two files.
  void LoseADaemon(MpiRun run) {
    const std::string pipe = absl::StrCat(cluster_.folder(), "/pipe"),
                      lines = absl::StrCat(cluster_.folder(), "/lines");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    MpiResult result;
    run.command.insert(run.command.end(), {lines, pipe});
    std::thread job([&] { result = Run(run, 3 * kDeathPatience); });
    std::string line;
    std::ifstream(pipe) >> line;  // once calls are offloaded
    EXPECT_EQ(line, "going");
    cluster_.KillDaemon(1);
    job.join();
    EXPECT_EQ(result.code, 0) << result.Text();
    MpiResult told;
    std::ifstream stream(lines);
    while (std::getline(stream, line)) told.error.push_back(line);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(told.ErrorsWith(absl::StrCat("rank ", rank, " was told")).size(), 1u) << told.Text() << result.Text();
    }
  }
};

TEST_P(AccidentsTest, ADaemonThatDiesEndsCallsOnAllRanks) {
  LoseADaemon(JobOf(4, "situations", {"until_it_fails"}));
  // A new one serves the next job.
  ASSERT_TRUE(cluster_.RestartDaemon(1).ok());
  const MpiResult next = RunSituation("pending_send");
  ExpectDone(next);
  EXPECT_GT(ParseStatistics(next)["MPI_Barrier"].offloaded, 0u) << next.Text();
}

// Even where calls go by MPI, as is faster, when it dies.
TEST_P(AccidentsTest, ADaemonThatDiesIsNoticedWhenCallsAreMeasuredAgain) {
  MpiRun run = JobOf(4, "situations", {"until_it_fails"});
  run.environment.erase("COPSE_MPI_OFFLOAD");
  LoseADaemon(std::move(run));
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
