// SPDX-License-Identifier: Apache-2.0
//
// Unmodified MPI programs on four nodes of at most two ranks, every node with a network of its own. Needs root.
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/netns/test_network.h"

namespace copse::mpi_test {
namespace {

constexpr absl::Duration kJobPatience = absl::Minutes(4);
constexpr uint32_t kNetworkNodes = 4;

class NodesTest : public ShimTest {
 protected:
  NodesTest() : ShimTest(kNetworkNodes, {.network = netns::NetworkOptions{.names = {"n0", "n1", "n2", "n3"}}}) {}

  void SetUp() override {
    if (const absl::Status possible = netns::CheckNamespaces(false); !possible.ok()) {
      GTEST_SKIP() << possible.message();
    }
    ShimTest::SetUp();
  }

  MpiResult RunOnNodes(uint32_t ranks, const std::string& program, const std::string& argument, bool preload = true) {
    MpiRun run = JobOf(ranks, program, {argument});
    run.sockets.clear();
    run.network = cluster_.network();
    run.preload = preload;
    if (!preload) run.environment.clear();
    return Run(run, kJobPatience);
  }
};

// On a rank a node, since more ranks than processors take long: those of random programs are two.
TEST_P(NodesTest, EveryCollectiveGivesWhatMpiGives) {
  if (std::string(GetParam()) == "mpich") {
    // Its own calls, to compare with, take tens of milliseconds where there are more ranks than processors.
    const MpiResult result = ExpectDone(RunOnNodes(kNetworkNodes, "situations", "many_communicators"));
    EXPECT_GT(ParseStatistics(result)["MPI_Allreduce"].offloaded, 0u) << result.Text();
    return;
  }
  const MpiResult result = RunOnNodes(kNetworkNodes, "conformance", "quick");
  ExpectConformance(result);
  EXPECT_GT(ParseStatistics(result)["MPI_Alltoallv"].offloaded, 0u) << result.Text();
}

TEST_P(NodesTest, RandomProgramsReceiveWhatTheyReceiveByMpiAlone) {
  // MPICH alone says of 1002, in a gather, that a message is too long.
  for (const std::string& seed : std::string(GetParam()) == "mpich" ? Words{"1001"} : Words{"1003", "1004"}) {
    SCOPED_TRACE(seed);
    const MpiResult alone = RunOnNodes(2 * kNetworkNodes, "random/random_program", seed, /*preload=*/false);
    EXPECT_EQ(alone.code, 0) << alone.Text();
    const MpiResult result = RunOnNodes(2 * kNetworkNodes, "random/random_program", seed);
    EXPECT_EQ(result.code, 0) << result.Text();
    EXPECT_EQ(result.out.size(), 1u) << result.Text();
    EXPECT_EQ(result.out, alone.out) << result.Text();
  }
}

COPSE_BOTH_MPIS(NodesTest);

}  // namespace
}  // namespace copse::mpi_test
