// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a daemon's teams are of the planner's cluster, and adopts the daemons' cluster if the store was lost.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_CLUSTER_ADOPTION_H_
#define COPSE_PLANNER_COORDINATOR_NODES_CLUSTER_ADOPTION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "planner/coordinator/interfaces/options.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/state/cluster_identity.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/ends.h"
#include "planner/coordinator/teams/formation.h"
#include "protocol/control.h"

namespace copse::coordinator {

class ClusterAdoption {
 public:
  // All outlive this object. `end_session` is called for a session that is closed here.
  ClusterAdoption(State* state, Ends* ends, Formation* formation, std::function<void(SessionId)> end_session)
      : state_(state), ends_(ends), formation_(formation), end_session_(std::move(end_session)) {}

  // Returns whether the planner may still find that it is of another cluster.
  bool MayAdopt() const { return state_->cluster->MayAdopt(state_->Now() - state_->started >= kSettle); }
  // Returns why the daemon's teams cannot be this planner's, after the planner has adopted their cluster if it may.
  // `term`: the highest one that the daemon knows.
  std::optional<schedule::FailureReport> RefusalOf(const schedule::Register& message, uint64_t term);

  // Returns the daemons of `cluster` that were refused since they hold teams of it. It may be empty if all are of one.
  // Errors: NOT_FOUND if there are none, FAILED_PRECONDITION if the cluster must be named; both name the clusters.
  absl::StatusOr<ForeignTeams> FindForeign(const std::string& cluster) const;
  // Makes the planner's cluster that of these daemons, whose teams are taken over when they register again. Of the
  // former cluster's teams those whose nodes are all away are dropped, since they may have the same ids.
  void Adopt(const ForeignTeams& teams);

 private:
  // Makes the planner's cluster this one. Nothing that the store has counts for the daemons' teams, since these may
  // have ids that the planner has issued. Daemons whose teams were foreign register again, with these.
  void Become(const std::string& uuid, uint64_t known_term);

  State* const state_;
  Ends* const ends_;
  Formation* const formation_;
  const std::function<void(SessionId)> end_session_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_CLUSTER_ADOPTION_H_
