// SPDX-License-Identifier: Apache-2.0
//
// The simulated cluster: the production coordinator, planner, daemon cores and engines on a virtual network.
#ifndef COPSE_INTEGRATION_TESTS_SIM_SIM_CLUSTER_H_
#define COPSE_INTEGRATION_TESTS_SIM_SIM_CLUSTER_H_

#include <cstdint>
#include <memory>

#include "daemon/core/calls/instruments.h"
#include "protocol/control.h"
#include "sim/virtual_network.h"
#include "testbed/script/cluster.h"

namespace copse::scenario {

class SimCluster : public Cluster {
 public:
  virtual uint64_t trace_hash() const = 0;
  // Precondition: the node's daemon lives. Returns null unless ClusterOptions requested instruments.
  virtual const daemon::Instruments* instruments(uint32_t node) const = 0;
  // Precondition: the node's daemon lives.
  virtual schedule::DaemonStatus status(uint32_t node) const = 0;
};

std::unique_ptr<SimCluster> MakeSimCluster(sim::LinkProperties link = {});

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SIM_SIM_CLUSTER_H_
