// SPDX-License-Identifier: Apache-2.0
//
// What a daemon knows of its planner.
#ifndef COPSE_DAEMON_CORE_PLANNER_SESSION_H_
#define COPSE_DAEMON_CORE_PLANNER_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "protocol/control.h"

namespace copse::daemon {

// The way to the planner. Messages sent while it is down are dropped: the core repeats everything in Register.
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

  // The stream stands: registers. The term of the newest planner that was heard of is filled in.
  void Up(schedule::Register message);
  void Down(absl::Time now);
  // The planner's answer to Up.
  void OnRegistered(const schedule::Registered& message);

  bool registered() const { return state_ == State::kRegistered; }
  // Registered, with a planner that has the feature.
  bool Has(schedule::Feature feature) const {
    return registered() && (features_ >> static_cast<uint32_t>(feature) & 1) != 0;
  }
  // Why the planner has refused this daemon; kNone: it has not.
  const schedule::FailureReport& refusal() const;
  // Whether the daemon has been without a planner for `patience`.
  bool IsMissing(absl::Time now, absl::Duration patience) const { return !registered() && now - lost_ >= patience; }
  // What a team that needs the planner fails with meanwhile; `node`: this one's name.
  schedule::FailureReport MissingReport(const std::string& node) const;

  // Dropped while there is no stream.
  void Send(const schedule::FromDaemon& message) {
    if (state_ != State::kAway) link_->Send(message);
  }

 private:
  enum class State : uint8_t { kAway, kAsked, kRegistered };

  PlannerLink* const link_;
  State state_ = State::kAway;
  absl::Time lost_;        // if not registered, since when
  uint64_t term_ = 0;      // the highest that a planner has told
  uint64_t features_ = 0;  // of the planner: bits by Feature
  // Few daemons are ever refused, so the others keep no room for it.
  std::unique_ptr<const schedule::FailureReport> refusal_;  // null: none
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PLANNER_SESSION_H_
