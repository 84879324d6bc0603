// SPDX-License-Identifier: Apache-2.0
//
// The clusters that cases run on.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_CLUSTERS_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_CLUSTERS_H_

#include <memory>

#include "integration_tests/campaign/case.h"
#include "testbed/script/cluster.h"

namespace copse::campaign {

std::unique_ptr<scenario::Cluster> MakeSimulatedCluster(const Case& c);
// Returns a cluster with network namespaces and an emulated network where that is possible, else on loopback, where
// no link can be cut.
std::unique_ptr<scenario::Cluster> MakeRealCluster(const Case& c);
// The same with daemons that have certificates, and whose data goes over Copse's own TCP.
std::unique_ptr<scenario::Cluster> MakeRealTcpCluster(const Case& c);

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_CLUSTERS_H_
