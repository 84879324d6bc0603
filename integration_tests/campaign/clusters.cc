// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/clusters.h"

#include "integration_tests/sim/sim_cluster.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/process_cluster.h"

namespace copse::campaign {

std::unique_ptr<scenario::Cluster> MakeSimulatedCluster(const Case& c) {
  // Some links are so slow, and take so few frames, that queues fill up.
  sim::LinkProperties link;
  if (c.seed % 3 == 1) link.bytes_per_second = 1e8;
  return scenario::MakeSimCluster(link);
}

std::unique_ptr<scenario::Cluster> MakeRealCluster(const Case&) {
  return std::make_unique<procs::ProcessCluster>(
      procs::ProcessClusterOptions{.one_switch_fabric = netns::CheckNamespaces(true).ok()});
}

std::unique_ptr<scenario::Cluster> MakeRealTcpCluster(const Case&) {
  return std::make_unique<procs::ProcessCluster>(
      procs::ProcessClusterOptions{.one_switch_fabric = netns::CheckNamespaces(true).ok(), .transport = "tcp"});
}

}  // namespace copse::campaign
