// SPDX-License-Identifier: Apache-2.0
//
// Unmodified MPI programs on four nodes of two ranks each, every node with a network of its own. Needs root.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/process_cluster.h"

namespace copse::mpi_test {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(4);
constexpr uint32_t kNodes = 4;

class NodesTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const absl::Status possible = netns::CheckNamespaces(false); !possible.ok()) {
      GTEST_SKIP() << possible.message();
    }
    const absl::Status started = cluster_.Start({.nodes = kNodes});
    ASSERT_TRUE(started.ok()) << started;
  }
  void TearDown() override {
    if (IsSkipped()) return;
    const absl::Status alive = cluster_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    if (HasFailure()) cluster_.DumpLogs(stderr);
  }

  MpiResult Run(const std::string& program, const std::string& argument, bool preload = true) {
    MpiRun run = {.library = GetParam(), .ranks = 2 * kNodes, .network = cluster_.network(), .preload = preload};
    if (preload) run.environment["COPSE_MPI_STATS"] = "1";
    if (preload) run.environment["COPSE_MPI_CALLS_BEFORE"] = "4";
    if (preload) run.environment["COPSE_MPI_OFFLOAD"] = "all";
    run.command = {PathOf(absl::StrCat("integration_tests/mpi/", program, "_", GetParam())), argument};
    return RunMpi(run, cluster_.folder(), kPatience);
  }

  procs::ProcessCluster cluster_{{.network = netns::NetworkOptions{.names = {"n0", "n1", "n2", "n3"}}}};
};

TEST_P(NodesTest, EveryCollectiveGivesWhatMpiGives) {
  if (std::string(GetParam()) == "mpich") {
    // Its own calls, to compare with, take tens of milliseconds where there are more ranks than processors.
    const MpiResult result = Run("situations", "many_communicators");
    EXPECT_EQ(result.code, 0) << result.Text();
    EXPECT_EQ(result.out, Words{"done"}) << result.Text();
    EXPECT_GT(ParseStatistics(result)["MPI_Allreduce"].offloaded, 0u) << result.Text();
    return;
  }
  const MpiResult result = Run("conformance", "quick");
  EXPECT_EQ(result.code, 0) << result.Text();
  ASSERT_EQ(result.out.size(), 1u) << result.Text();
  EXPECT_TRUE(absl::EndsWith(result.out[0], " cases, 0 wrong")) << result.Text();
  EXPECT_GT(ParseStatistics(result)["MPI_Alltoallv"].offloaded, 0u) << result.Text();
}

TEST_P(NodesTest, RandomProgramsReceiveWhatTheyReceiveByMpiAlone) {
  // MPICH alone says of 1002, in a gather, that a message is too long.
  for (const char* seed : {"1001", "1003", "1004"}) {
    SCOPED_TRACE(seed);
    const MpiResult alone = Run("random/random_program", seed, /*preload=*/false);
    EXPECT_EQ(alone.code, 0) << alone.Text();
    const MpiResult result = Run("random/random_program", seed);
    EXPECT_EQ(result.code, 0) << result.Text();
    EXPECT_EQ(result.out.size(), 1u) << result.Text();
    EXPECT_EQ(result.out, alone.out) << result.Text();
  }
}

COPSE_BOTH_MPIS(NodesTest);

}  // namespace
}  // namespace copse::mpi_test
