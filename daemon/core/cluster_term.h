// SPDX-License-Identifier: Apache-2.0
//
// Remembers what a daemon knows of its cluster's planners.
#ifndef COPSE_DAEMON_CORE_CLUSTER_TERM_H_
#define COPSE_DAEMON_CORE_CLUSTER_TERM_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "protocol/control.h"

namespace copse::daemon {

// A ClusterTerm is the cluster of the last planner, and the highest term that planners of that cluster have told. Terms
// of two clusters are not related.
class ClusterTerm {
 public:
  uint64_t term() const { return term_; }
  const std::string& cluster() const { return cluster_; }  // UUID; empty: the planner has told none

  // Returns whether the planner is of the same cluster as one before it, and has a lower term.
  bool IsAheadOf(const schedule::Registered& planner) const {
    return !schedule::IsOtherCluster(planner.cluster, cluster_) && planner.term != 0 && planner.term < term_;
  }
  // The planner has accepted this daemon.
  void Follow(const schedule::Registered& planner) {
    const bool is_other = schedule::IsOtherCluster(planner.cluster, cluster_);
    term_ = is_other ? planner.term : std::max(term_, planner.term);
    if (!planner.cluster.empty()) cluster_ = planner.cluster;
  }
  void SetCluster(const std::string& uuid) { cluster_ = uuid; }

 private:
  uint64_t term_ = 0;
  std::string cluster_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CLUSTER_TERM_H_
