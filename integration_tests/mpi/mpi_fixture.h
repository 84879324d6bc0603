// SPDX-License-Identifier: Apache-2.0
//
// Jobs of MPI programs on a cluster of daemons, and what is expected of their results.
#ifndef COPSE_INTEGRATION_TESTS_MPI_MPI_FIXTURE_H_
#define COPSE_INTEGRATION_TESTS_MPI_MPI_FIXTURE_H_

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/process_cluster.h"

namespace copse::mpi_test {

inline constexpr absl::Duration kPatience = absl::Minutes(10);
// Limit of the time until a member's death is reported.
inline constexpr absl::Duration kDeathPatience = absl::Seconds(20);
inline constexpr uint32_t kNodes = 2;

// Expects a job that printed "done" and no more; returns it.
inline MpiResult ExpectDone(MpiResult result) {
  EXPECT_EQ(result.code, 0) << result.Text();
  EXPECT_EQ(result.out, Words{"done"}) << result.Text();
  return result;
}

// Expects that the program `conformance` found no wrong result.
inline void ExpectConformance(const MpiResult& result) {
  EXPECT_EQ(result.code, 0) << result.Text();
  ASSERT_EQ(result.out.size(), 1u) << result.Text();
  EXPECT_TRUE(absl::EndsWith(result.out[0], " cases, 0 wrong")) << result.Text();
}

// Expects that each of the first `ranks` reported a failure once. Hydra may pass on two ranks' lines as one: "donerank
// 3 was told".
inline void ExpectWereTold(const MpiResult& result, int ranks) {
  EXPECT_EQ(result.code, 0) << result.Text();
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string told = absl::StrCat("rank ", rank, " was told");
    EXPECT_EQ(std::count_if(result.out.begin(), result.out.end(),
                            [&](const std::string& line) { return absl::StrContains(line, told); }),
              1)
        << result.Text();
  }
}

// Expects that each of four ranks reported a failure once, on standard error.
inline void ExpectAllWereTold(const MpiResult& result) {
  EXPECT_EQ(result.code, 0) << result.Text();
  for (int rank = 0; rank < 4; ++rank) ExpectSaidOnce(result, absl::StrCat("rank ", rank, " was told"));
}

// The job failed before any rank got past what ended it. A launcher may have something to say on standard output, too.
inline void ExpectNobodyWentOn(const MpiResult& result) {
  EXPECT_GT(result.code, 0) << result.Text();
  for (const std::string& line : result.out) EXPECT_FALSE(absl::StrContains(line, "went on")) << result.Text();
  EXPECT_TRUE(result.ErrorsWith("went on").empty()) << result.Text();
}

// A cluster of `nodes` daemons, which must still run at the test's end unless the test killed them.
template <class Param>
class MpiTest : public ::testing::TestWithParam<Param> {
 protected:
  explicit MpiTest(uint32_t nodes, procs::ProcessClusterOptions options = {})
      : nodes_(nodes), cluster_(std::move(options)) {}

  void SetUp() override {
    const absl::Status started = cluster_.Start({.nodes = nodes_});
    ASSERT_TRUE(started.ok()) << started;
  }
  void TearDown() override {
    if (this->IsSkipped()) return;
    const absl::Status alive = cluster_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    if (this->HasFailure()) cluster_.DumpLogs(stderr);
  }

  Words Sockets() {
    Words sockets;
    for (uint32_t node = 0; node < nodes_; ++node) sockets.push_back(cluster_.SocketOf(node));
    return sockets;
  }
  std::string FilePath(const std::string& name) { return absl::StrCat(cluster_.folder(), "/", name); }
  std::string MakePipe(const std::string& name = "pipe") {
    const std::string pipe = FilePath(name);
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    return pipe;
  }
  MpiResult Run(const MpiRun& run, absl::Duration timeout = kPatience) {
    return RunMpi(run, cluster_.folder(), timeout);
  }

  const uint32_t nodes_;
  procs::ProcessCluster cluster_;
};

// Jobs of one MPI.
class ShimTest : public MpiTest<const char*> {
 protected:
  explicit ShimTest(uint32_t nodes = kNodes, procs::ProcessClusterOptions options = {})
      : MpiTest(nodes, std::move(options)) {}

  // The path of one of this folder's programs.
  static std::string ProgramOf(const std::string& name, const std::string& suffix = "") {
    return PathOf(absl::StrCat("integration_tests/mpi/", name, "_", GetParam(), suffix));
  }
  MpiRun JobOf(uint32_t ranks, const std::string& program, const Words& arguments) {
    MpiRun run = {.library = GetParam(), .ranks = ranks, .sockets = Sockets()};
    run.environment = {{"COPSE_MPI_STATS", "1"}, {"COPSE_MPI_CALLS_BEFORE", "4"}, {"COPSE_MPI_OFFLOAD", "all"}};
    run.command = {ProgramOf(program)};
    run.command.insert(run.command.end(), arguments.begin(), arguments.end());
    return run;
  }
  // Blocking calls complete asynchronously in `mode`, from the first one on.
  MpiRun EarlyJobOf(uint32_t ranks, const std::string& mode, const Words& arguments) {
    MpiRun run = JobOf(ranks, "early/early", arguments);
    run.environment["COPSE_MPI_CALLS_BEFORE"] = "0";
    run.environment["COPSE_TNBC"] = mode;
    return run;
  }
  // Runs a job that a death must end within kDeathPatience.
  MpiResult RunInTime(const MpiRun& run) {
    const absl::Time start = absl::Now();
    MpiResult result = Run(run, 3 * kDeathPatience);
    EXPECT_LT(absl::Now() - start, kDeathPatience) << result.Text();
    return result;
  }
  MpiResult RunSituation(const std::string& name, uint32_t ranks = 4) {
    return Run(JobOf(ranks, "situations", {name}));
  }
  // Returns a job in which Copse chooses the calls that go to the daemons.
  MpiRun JobByChoice(const std::string& situation, uint32_t ranks) {
    MpiRun run = JobOf(ranks, "situations", {situation});
    run.environment.erase("COPSE_MPI_OFFLOAD");
    return run;
  }
  // Runs a job with nothing set, as users do: Copse also chooses from which call on.
  MpiResult RunByDefaults(const std::string& situation, uint32_t ranks) {
    MpiRun run = JobByChoice(situation, ranks);
    run.environment.erase("COPSE_MPI_CALLS_BEFORE");
    return Run(run);
  }
  MpiResult RunRequests(const std::string& name) { return Run(JobOf(4, "requests", {name})); }
};

}  // namespace copse::mpi_test

#endif  // COPSE_INTEGRATION_TESTS_MPI_MPI_FIXTURE_H_
