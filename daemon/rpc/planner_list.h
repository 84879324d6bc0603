// SPDX-License-Identifier: Apache-2.0
//
// Chooses the planner that a daemon tries next, of several that may lead.
#ifndef COPSE_DAEMON_RPC_PLANNER_LIST_H_
#define COPSE_DAEMON_RPC_PLANNER_LIST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/prng.h"
#include "daemon/rpc/reconnect_pause.h"

namespace copse::daemon {

// A PlannerList holds the configured planners. One that ends the daemon's stream is followed by the leader that it
// names, at once, or else by the next of the list, soon; when all were tried, the pauses grow (reconnect_pause.h).
// Thread-compatible.
class PlannerList {
 public:
  // `addresses` has at least one, HOST:PORT. `seed` randomizes the pauses.
  PlannerList(std::vector<std::string> addresses, ReconnectPauseOptions pause, uint64_t seed);

  size_t size() const { return addresses_.size(); }
  // Returns the planner to be tried, or in use.
  const std::string& current() const { return current_; }
  // Returns one to be asked who leads: the next in the list that is not in use, at each call another one.
  const std::string& Other();

  // Notes that the stream with current() has ended: sets the next one, and returns the pause before it. `stood` is
  // ReconnectPause::Next's; `refused`: the daemon was refused for a reason that will hardly change soon; `leader`: the
  // one that the planner named; empty: none.
  absl::Duration Ended(absl::Duration stood, bool refused, const std::string& leader);
  // Makes `address` the current one, since it has begun to lead. It is tried again for a while before others are, which
  // may stand still: it opens its store first.
  void Follow(const std::string& address);

 private:
  const std::vector<std::string> addresses_;
  ReconnectPause pause_;
  Prng prng_;
  std::string current_;
  size_t next_ = 0;   // in addresses_
  size_t asked_ = 0;  // likewise, for Other
  size_t tries_ = 0;  // since a planner accepted the daemon
  size_t hints_ = 0;  // followed since then
  int patience_ = 0;  // tries that are left for a planner that was followed
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_PLANNER_LIST_H_
