// SPDX-License-Identifier: Apache-2.0
//
// What every test on real processes wants.
#ifndef COPSE_INTEGRATION_TESTS_PROCS_CLUSTER_FIXTURE_H_
#define COPSE_INTEGRATION_TESTS_PROCS_CLUSTER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdio>

#include "absl/time/time.h"
#include "testbed/processes/process_cluster.h"

namespace copse::procs {

// A cluster that the test starts. At the end daemons and planner must still run, unless the test killed them, and end
// on SIGTERM with exit code 0. A test that failed shows the ends of all logs.
class ClusterFixture : public ::testing::Test {
 protected:
  void TearDown() override {
    const absl::Status alive = cluster_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    const absl::Status stopped = cluster_.Stop(absl::Seconds(60));
    EXPECT_TRUE(stopped.ok()) << stopped;
    if (HasFailure()) cluster_.DumpLogs(stderr);
  }

  ProcessCluster cluster_;
};

}  // namespace copse::procs

#endif  // COPSE_INTEGRATION_TESTS_PROCS_CLUSTER_FIXTURE_H_
