// SPDX-License-Identifier: Apache-2.0
//
// One node's data link is cut on an emulated network, while its link to the planner stays: who is named as lost. Needs
// root and TUN.
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "integration_tests/scenarios/scenarios.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/process_cluster.h"

namespace copse::procs {
namespace {

using copse::testing::Names;

using scenario::Outcome;

constexpr absl::Duration kPatience = absl::Seconds(60);

class CutPairTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status possible = netns::CheckNamespaces(true); !possible.ok()) GTEST_SKIP() << possible.message();
  }
  // Cuts a node's link on a network of that many; returns the outcomes at the ranks that wait for the next node's.
  std::vector<Outcome> Cut(uint32_t nodes, uint32_t cut) {
    ProcessCluster cluster({.one_switch_fabric = true});
    const std::vector<Outcome> told =
        scenario::OutcomesOfACut(&cluster, nodes, (cut + 1) % nodes, [&] { return cluster.SetDataLink(cut, false); });
    const absl::Status stopped = cluster.Stop(kPatience);
    EXPECT_TRUE(stopped.ok()) << stopped;
    if (HasFailure()) cluster.DumpLogs(stderr);
    return told;
  }
};

class CutLinkTest : public CutPairTest, public ::testing::WithParamInterface<uint32_t> {};

// The neighbors are silent to the node that is cut off, as it is to them.
TEST_P(CutLinkTest, TheNodeThatIsCutOffIsNamed) {
  const std::vector<Outcome> told = Cut(4, GetParam());
  ASSERT_EQ(told.size(), 3u);
  for (const Outcome& outcome : told) {
    EXPECT_EQ(outcome.failure, schedule::Failure::kMemberLost) << outcome.text;
    EXPECT_EQ(outcome.cause, schedule::FailureCause::kNodeSilent);
    EXPECT_THAT(outcome.text, Names(absl::StrCat("rank ", GetParam(), " on node n", GetParam()), "2s"));
  }
}
INSTANTIATE_TEST_SUITE_P(Nodes, CutLinkTest, ::testing::Range(0u, 4u));

// Either end may be the one that is cut off.
TEST_F(CutPairTest, OfTwoNodesBothAreNamed) {
  const std::vector<Outcome> told = Cut(2, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].failure, schedule::Failure::kMemberLost) << told[0].text;
  EXPECT_EQ(told[0].cause, schedule::FailureCause::kNodeSilent);
  EXPECT_THAT(told[0].text, Names("rank 0 on node n0", "rank 1 on node n1", "2s"));
}

}  // namespace
}  // namespace copse::procs
