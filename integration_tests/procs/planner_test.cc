// SPDX-License-Identifier: Apache-2.0
//
// The planner and real daemons that do not answer.
#include <gtest/gtest.h>

#include "testbed/processes/process_cluster.h"

namespace copse::procs {
namespace {

// A stopped process keeps its connections, so only asking finds it out.
TEST(PlannerTest, AStoppedDaemonIsAwayAndComesBack) {
  ProcessCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 2, .heartbeat = absl::Milliseconds(200), .node_timeout = absl::Seconds(2)}).ok());
  cluster.StopDaemon(1);
  const absl::Status away = cluster.AwaitNodeState(1, "away", absl::Seconds(30));
  EXPECT_TRUE(away.ok()) << away;
  EXPECT_TRUE(cluster.AwaitNodeState(0, "ready", absl::Seconds(5)).ok()) << "who answers stays";
  cluster.ContinueDaemon(1);
  const absl::Status back = cluster.AwaitNodeState(1, "ready", absl::Seconds(30));
  EXPECT_TRUE(back.ok()) << back;
  EXPECT_TRUE(cluster.Stop(absl::Seconds(30)).ok());
}

}  // namespace
}  // namespace copse::procs
