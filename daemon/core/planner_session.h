// SPDX-License-Identifier: Apache-2.0
//
// The state of a daemon's registration with its planner.
#ifndef COPSE_DAEMON_CORE_PLANNER_SESSION_H_
#define COPSE_DAEMON_CORE_PLANNER_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "protocol/control.h"

namespace copse::daemon {

// The stream to the planner. Messages sent while it is down are dropped: Register repeats everything.
class PlannerLink {
 public:
  virtual ~PlannerLink() = default;
  virtual void Send(const schedule::FromDaemon& message) = 0;
};

// A PlannerSession follows the stream to the planner: away, asked to register this daemon, or registered.
// Thread-compatible; `*link` outlives it.
class PlannerSession {
 public:
  PlannerSession(PlannerLink* link, absl::Time now) : link_(link), lost_(now) {}

  // The stream is up: sends `message`, with the highest term known.
  void Up(schedule::Register message);
  void Down(absl::Time now);
  // The planner's answer to Up.
  void OnRegistered(const schedule::Registered& message);

  bool registered() const { return state_ == State::kRegistered; }
  // Whether the daemon is registered with a planner that has the feature.
  bool Has(schedule::Feature feature) const { return registered() && features_.contains(feature); }
  // Why the planner has refused this daemon; kNone: it has not refused it.
  const schedule::FailureReport& refusal() const;
  // Whether the daemon has been without a planner for `patience`.
  bool IsMissing(absl::Time now, absl::Duration patience) const { return !registered() && now - lost_ >= patience; }
  // Returns the failure of teams that need the planner while it is missing. `node`: this node's name.
  schedule::FailureReport MissingReport(const std::string& node) const;

  // Drops the message while there is no stream.
  void Send(const schedule::FromDaemon& message) {
    if (state_ != State::kAway) link_->Send(message);
  }

 private:
  enum class State : uint8_t { kAway, kAsked, kRegistered };

  PlannerLink* const link_;
  State state_ = State::kAway;
  absl::Time lost_;              // end of the last registration
  uint64_t term_ = 0;            // the highest one received
  schedule::Features features_;  // the planner's
  // Allocated at a refusal, since few daemons are ever refused.
  std::unique_ptr<const schedule::FailureReport> refusal_;  // null: none
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PLANNER_SESSION_H_
