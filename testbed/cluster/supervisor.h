// SPDX-License-Identifier: Apache-2.0
//
// The process in the background that owns a test cluster.
#ifndef COPSE_TESTBED_CLUSTER_SUPERVISOR_H_
#define COPSE_TESTBED_CLUSTER_SUPERVISOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "testbed/cluster/state.h"

namespace copse::cluster {

struct UpOptions {
  uint32_t nodes = 4;
  bool netns = false;
  int64_t rate_bits_per_s = 0;
  std::string fabric;
  uint32_t ppn = 0;
};

// Starts a cluster in the background and waits until it is ready. It then lives until EndCluster, or until its
// supervisor dies in any way. With namespaces it has a process namespace too, so that all processes in its nodes, also
// those of `exec`, end with it.
//
// On SIGINT, SIGTERM or SIGHUP it undoes what it began: CANCELLED with the signal's number as text. Only for a program
// without other threads, once. Errors: those of StateFolder::Claim and of ProcessCluster::Start.
absl::Status StartCluster(const StateFolder& folder, const UpOptions& options);

// Sends SIGTERM, and after `patience` SIGKILL: then DEADLINE_EXCEEDED, but the cluster has ended. Removes its files
// too.
absl::Status EndCluster(const StateFolder& folder, absl::Duration patience);

}  // namespace copse::cluster

#endif  // COPSE_TESTBED_CLUSTER_SUPERVISOR_H_
