// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_INTEGRATION_TESTS_MPI_SHIM_FIXTURE_H_
#define COPSE_INTEGRATION_TESTS_MPI_SHIM_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/process_cluster.h"

namespace copse::mpi_test {

inline constexpr absl::Duration kPatience = absl::Minutes(10);
// A member's death has to be told within this.
inline constexpr absl::Duration kDeathPatience = absl::Seconds(20);
inline constexpr uint32_t kNodes = 2;

// Two daemons, and jobs of one MPI on them.
class ShimTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.Start({.nodes = kNodes}).ok()); }
  void TearDown() override {
    const absl::Status alive = cluster_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    if (HasFailure()) cluster_.DumpLogs(stderr);
  }

  MpiRun JobOf(uint32_t ranks, const std::string& program, Words arguments) {
    MpiRun run = {.library = GetParam(), .ranks = ranks};
    for (uint32_t node = 0; node < kNodes; ++node) run.sockets.push_back(cluster_.SocketOf(node));
    run.environment["COPSE_MPI_STATS"] = "1";
    run.environment["COPSE_MPI_CALLS_BEFORE"] = "4";
    run.environment["COPSE_MPI_OFFLOAD"] = "all";
    run.command = {PathOf(absl::StrCat("integration_tests/mpi/", program, "_", GetParam()))};
    run.command.insert(run.command.end(), arguments.begin(), arguments.end());
    return run;
  }
  MpiResult Run(const MpiRun& run, absl::Duration timeout = kPatience) {
    return RunMpi(run, cluster_.folder(), timeout);
  }
  // A death has to end the job in time.
  MpiResult RunInTime(const MpiRun& run) {
    const absl::Time start = absl::Now();
    MpiResult result = Run(run, 3 * kDeathPatience);
    EXPECT_LT(absl::Now() - start, kDeathPatience) << result.Text();
    return result;
  }
  MpiResult RunSituation(const std::string& name, uint32_t ranks = 4) {
    return Run(JobOf(ranks, "situations", {name}));
  }
  // What users get who set nothing.
  MpiResult RunByDefaults(const std::string& situation, uint32_t ranks) {
    MpiRun run = JobOf(ranks, "situations", {situation});
    run.environment.erase("COPSE_MPI_CALLS_BEFORE");
    run.environment.erase("COPSE_MPI_OFFLOAD");
    return Run(run);
  }
  MpiResult RunRequests(const std::string& name) { return Run(JobOf(4, "requests", {name})); }
  // Returns what it was given.
  MpiResult ExpectDone(MpiResult result) {
    EXPECT_EQ(result.code, 0) << result.Text();
    EXPECT_EQ(result.out, Words{"done"}) << result.Text();
    return result;
  }

  procs::ProcessCluster cluster_;
};

// Once. Hydra may pass on two ranks' lines as one: "donerank 3 was told".
inline void ExpectWasTold(const MpiResult& result, int rank) {
  const std::string told = absl::StrCat("rank ", rank, " was told");
  EXPECT_EQ(std::count_if(result.out.begin(), result.out.end(),
                          [&](const std::string& line) { return absl::StrContains(line, told); }),
            1)
      << result.Text();
}

// Each of four ranks, once, on standard error.
inline void ExpectAllWereTold(const MpiResult& result) {
  EXPECT_EQ(result.code, 0) << result.Text();
  for (int rank = 0; rank < 4; ++rank) ExpectSaidOnce(result, absl::StrCat("rank ", rank, " was told"));
}

// A launcher may have something to say on standard output, too.
inline void ExpectNobodyWentOn(const MpiResult& result) {
  for (const std::string& line : result.out) EXPECT_FALSE(absl::StrContains(line, "went on")) << result.Text();
}

}  // namespace copse::mpi_test

#endif  // COPSE_INTEGRATION_TESTS_MPI_SHIM_FIXTURE_H_
