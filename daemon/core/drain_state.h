// SPDX-License-Identifier: Apache-2.0
//
// Records whether a daemon accepts new teams, and why not.
#ifndef COPSE_DAEMON_CORE_DRAIN_STATE_H_
#define COPSE_DAEMON_CORE_DRAIN_STATE_H_

#include <string>
#include <string_view>
#include <utility>

namespace copse::daemon {

// A DrainState is set while an administrator drains the daemon, and from the time at which the daemon begins to stop.
// Thread-compatible.
class DrainState {
 public:
  // Returns why the daemon accepts no new teams; empty: it accepts them.
  std::string_view reason() const {
    if (!stop_reason_.empty()) return stop_reason_;
    return drained_ ? "drained by the administrator" : "";
  }
  // Records the administrator's decision. Returns true if a drain begins with it.
  bool SetDrained(bool drained) { return !std::exchange(drained_, drained) && drained; }
  // Records that the daemon stops. Returns true the first time; later reasons are ignored.
  bool Stop(const std::string& why) {
    if (!stop_reason_.empty()) return false;
    stop_reason_ = why;
    return true;
  }

  // Records that the planner is notified of the stop.
  void Announce() { announced_ = true; }
  bool announced() const { return announced_; }

 private:
  bool drained_ = false;
  bool announced_ = false;
  std::string stop_reason_;  // empty: the daemon does not stop
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DRAIN_STATE_H_
