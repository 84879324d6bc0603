// SPDX-License-Identifier: Apache-2.0
//
// Clusters of real processes in network namespaces: scenarios that loopback clusters pass too, and what only real links
// show. Needs root.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/procs/cluster_fixture.h"
#include "integration_tests/scenarios/scenarios.h"
#include "testbed/netns/test_network.h"

namespace copse::procs {
namespace {

using copse::testing::IsOk;
using copse::testing::Names;

using scenario::Outcome;
using scenario::TeamPrograms;

constexpr absl::Duration kPatience = absl::Seconds(60);
const CallArguments kSum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};

class NetnsTest : public NetnsFixture {
 protected:
  // The line that an application of `node` writes.
  std::string Run(uint32_t node, const std::string& shell_command) {
    const auto child = cluster_.StartApplication(node, {"/bin/sh", "-c", shell_command});
    if (!child.ok()) return child.status().ToString();
    return (*child)->ReadLine(kPatience).value_or("nothing");
  }
};

TEST_F(NetnsTest, CollectivesTravelByTheDataNetwork) {
  ASSERT_THAT(cluster_.Start({.nodes = 4}), IsOk());
  EXPECT_EQ(Run(2, "echo $(hostname) $COPSE_SOCKET"), "n2");
  const auto sent = [&] {
    int64_t bytes = 0;
    EXPECT_TRUE(absl::SimpleAtoi(Run(1, "cat /sys/class/net/eth0/statistics/tx_bytes"), &bytes));
    return bytes;
  };
  const int64_t before = sent();
  constexpr uint64_t kCount = 8192;
  CallArguments sum = kSum;
  sum.count = kCount;
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("data", {0, 0, 1, 1, 2, 2, 3, 3}, {kSum, sum, sum}, 1), kPatience);
  EXPECT_GT(sent() - before, static_cast<int64_t>(2 * kCount * sizeof(double))) << "shared memory, or another network";
}

TEST_F(NetnsTest, ARestartedDaemonAndPlannerAreFoundAgain) {
  ASSERT_TRUE(cluster_.Start({.nodes = 2}).ok());
  ASSERT_THAT(cluster_.RestartDaemon(1), IsOk());
  ASSERT_THAT(cluster_.RestartPlanner(), IsOk());
  scenario::ExpectAllSucceed(&cluster_, TeamPrograms("again", {0, 1}, {kSum}, 1), kPatience);
}

#define COPSE_NETNS_SCENARIO(Name) \
  TEST_F(NetnsTest, Name) { scenario::Name(&cluster_); }

COPSE_NETNS_SCENARIO(LateRankIsListedAndCompletes)
COPSE_NETNS_SCENARIO(StoppedProcessDelaysAndCompletes)
COPSE_NETNS_SCENARIO(StoppedDaemonDelaysAndCompletes)
COPSE_NETNS_SCENARIO(CollectivesThatDiffer)
COPSE_NETNS_SCENARIO(PlannerRestartUnderLoad)
COPSE_NETNS_SCENARIO(EpochSwitchUnderLoad)
COPSE_NETNS_SCENARIO(PlannerKilledBetweenDecisionAndCommit)

TEST_F(NetnsTest, KilledProcess) { scenario::KilledProcess(&cluster_, 1); }
TEST_F(NetnsTest, KilledDaemonRejoins) { scenario::KilledDaemonRejoins(&cluster_, 1); }
TEST_F(NetnsTest, KilledPlanner) { scenario::KilledPlanner(&cluster_, 1); }

// Node 2's devices go down while ranks 0 and 1 wait for it in a call. Nothing but silence tells of it: no process has
// ended, no connection is reset.
std::vector<Outcome> CutNode2(ProcessCluster* cluster, const std::vector<const char*>& devices) {
  return scenario::OutcomesOfACut(cluster, 3, 2, [&] {
    absl::Status status;
    for (const char* device : devices) status.Update(cluster->network()->SetLink(2, device, false));
    return status;
  });
}

TEST_F(NetnsTest, ANodeWithoutLinksIsNamedToTheOthers) {
  const std::vector<Outcome> told = CutNode2(&cluster_, {netns::kControlDevice, netns::kDataDevice});
  ASSERT_EQ(told.size(), 2u);
  for (const Outcome& outcome : told) {
    EXPECT_EQ(outcome.failure, schedule::Failure::kMemberLost) << outcome.text;
    EXPECT_THAT(outcome.text, Names("rank 2 on node n2"));
  }
}

// cut_link_test.cc has more of these.
TEST_F(NetnsTest, ANodeWithoutItsDataLinkIsNamedToTheOthers) {
  const std::vector<Outcome> told = CutNode2(&cluster_, {netns::kDataDevice});
  ASSERT_EQ(told.size(), 2u);
  for (const Outcome& outcome : told) {
    EXPECT_EQ(outcome.failure, schedule::Failure::kMemberLost) << outcome.text;
    EXPECT_EQ(outcome.cause, schedule::FailureCause::kNodeSilent);
    EXPECT_THAT(outcome.text, Names("rank 2 on node n2", "2s"));
  }
}

}  // namespace
}  // namespace copse::procs
