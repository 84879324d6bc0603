// SPDX-License-Identifier: Apache-2.0
//
// What every test on real processes wants.
#ifndef COPSE_INTEGRATION_TESTS_PROCS_CLUSTER_FIXTURE_H_
#define COPSE_INTEGRATION_TESTS_PROCS_CLUSTER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/process_cluster.h"

namespace copse::procs {

// Returns the number that this variable of the environment has.
inline int FromEnvironment(const char* name, int otherwise) {
  int value = 0;
  const char* const text = std::getenv(name);
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

// A cluster that the test starts. At the end daemons and planner must still run, unless the test killed them, and end
// on SIGTERM with exit code 0. A test that failed shows the ends of all logs.
class ClusterFixture : public ::testing::Test {
 protected:
  explicit ClusterFixture(ProcessClusterOptions options = {}) : cluster_(std::move(options)) {}

  void TearDown() override {
    if (IsSkipped()) return;
    const absl::Status alive = cluster_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    const absl::Status stopped = cluster_.Stop(absl::Seconds(60));
    EXPECT_TRUE(stopped.ok()) << stopped;
    if (HasFailure()) cluster_.DumpLogs(stderr);
  }

  ProcessCluster cluster_;
};

// A cluster in network namespaces, whose nodes are n0 to n15 at most. Needs root, or is skipped.
class NetnsFixture : public ClusterFixture {
 protected:
  // With ProcessClusterOptions' transport.
  explicit NetnsFixture(std::string transport = "")
      : ClusterFixture({.network = netns::NetworkOptions{.names = NodeNames()}, .transport = std::move(transport)}) {}

  void SetUp() override {
    if (const absl::Status possible = netns::CheckNamespaces(false); !possible.ok()) {
      GTEST_SKIP() << possible.message();
    }
  }

 private:
  static std::vector<std::string> NodeNames() {
    std::vector<std::string> names;
    for (int node = 0; node < 16; ++node) names.push_back(absl::StrCat("n", node));
    return names;
  }
};

}  // namespace copse::procs

#endif  // COPSE_INTEGRATION_TESTS_PROCS_CLUSTER_FIXTURE_H_
