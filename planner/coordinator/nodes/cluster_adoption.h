// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a daemon's teams are of the planner's cluster, and adopts the daemons' cluster if the store was lost.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_CLUSTER_ADOPTION_H_
#define COPSE_PLANNER_COORDINATOR_NODES_CLUSTER_ADOPTION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "planner/coordinator/state/cluster_identity.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/ends.h"
#include "protocol/control.h"

namespace copse::coordinator {

class ClusterAdoption {
 public:
  ClusterAdoption(State* state, Ends* ends) : state_(state), ends_(ends) {}  // both outlive this object

  // Returns why the daemon's teams cannot be this planner's, after the planner has adopted their cluster if it may.
  std::optional<schedule::FailureReport> RefusalOf(const schedule::Register& message);

  // Returns the daemons of `cluster` that were refused since they hold teams of it. It may be empty if all are of one.
  // Errors: NOT_FOUND if there are none, FAILED_PRECONDITION if the cluster must be named; both name the clusters.
  absl::StatusOr<ForeignTeams> FindForeign(const std::string& cluster) const;
  // Makes the planner's cluster that of these daemons, whose teams are taken over when they register again. Of the
  // former cluster's teams those whose nodes are all away are dropped, since they may have the same ids.
  void Adopt(const ForeignTeams& teams);

 private:
  void Become(const std::string& uuid);

  State* const state_;
  Ends* const ends_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_CLUSTER_ADOPTION_H_
