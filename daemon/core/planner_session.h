// SPDX-License-Identifier: Apache-2.0
//
// Tracks the state of a daemon's registration with its planner.
#ifndef COPSE_DAEMON_CORE_PLANNER_SESSION_H_
#define COPSE_DAEMON_CORE_PLANNER_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "daemon/core/cluster_term.h"
#include "protocol/control.h"

namespace copse::daemon {

// PlannerLink is the stream to the planner. It drops messages that are sent while it is down: Register repeats what the
// planner needs.
class PlannerLink {
 public:
  virtual ~PlannerLink() = default;
  virtual void Send(const schedule::FromDaemon& message) = 0;
};

// A PlannerSession follows the stream to the planner: the stream is down, or Register was sent, or this daemon is
// registered. Thread-compatible; `*link` must outlive it.
class PlannerSession {
 public:
  PlannerSession(PlannerLink* link, absl::Time now) : link_(link), lost_(now) {}

  // The stream is up: sends `message`, with the highest term that a planner of the cluster has sent, and its UUID.
  void Up(schedule::Register message);
  // The stream is down.
  void Down(absl::Time now);
  // Handles the planner's answer to Register: it has accepted or refused this daemon.
  void OnRegistered(const schedule::Registered& message, absl::Time now);
  // Handles the news that the planner's cluster has this UUID.
  void SetCluster(const std::string& uuid) { known_.SetCluster(uuid); }

  bool registered() const { return state_ == State::kRegistered; }
  // Returns whether the daemon is registered with a planner that has the feature.
  bool Has(schedule::Feature feature) const { return registered() && features_.contains(feature); }
  // Returns why the planner's latest answer was a refusal; kNone: it was not.
  const schedule::FailureReport& refusal() const;
  // Returns whether the daemon is not registered, and its last registration ended `patience` or longer ago, with its
  // stream or by a refusal (without one, the daemon started then).
  bool IsMissing(absl::Time now, absl::Duration patience) const { return !registered() && now - lost_ >= patience; }
  // Returns the failure of teams that need the planner while it is missing. `node`: this node's name.
  schedule::FailureReport MissingReport(const std::string& node) const;

  // Drops the message while the stream is down. A join of a team waits for Flush or any other message, if the planner
  // takes several joins in one.
  void Send(const schedule::FromDaemon& message);
  // Sends the joins that wait, those of a team together.
  void Flush();
  bool has_joins() const { return !joins_.empty(); }

 private:
  enum class State : uint8_t { kAway, kAsked, kRegistered };

  void Gather(const schedule::JoinTeam& join);

  PlannerLink* const link_;
  State state_ = State::kAway;
  absl::Time lost_;  // end of the last registration; before the first one, the start
  ClusterTerm known_;
  std::vector<schedule::JoinTeam> joins_;  // that wait for Flush, one for each team
  schedule::Features features_;            // the planner's
  // It is allocated at a refusal, since few daemons are ever refused.
  std::unique_ptr<const schedule::FailureReport> refusal_;  // null: none
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PLANNER_SESSION_H_
