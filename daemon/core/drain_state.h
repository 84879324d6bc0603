// SPDX-License-Identifier: Apache-2.0
//
// Whether a daemon accepts new teams.
#ifndef COPSE_DAEMON_CORE_DRAIN_STATE_H_
#define COPSE_DAEMON_CORE_DRAIN_STATE_H_

#include <string>
#include <string_view>
#include <utility>

namespace copse::daemon {

// A daemon accepts no new teams while an administrator drains it, and none from the time it stops. Thread-compatible.
class DrainState {
 public:
  // Why the daemon accepts no new teams; empty: it accepts them.
  std::string_view reason() const {
    if (!stop_reason_.empty()) return stop_reason_;
    return drained_ ? "drained by the administrator" : "";
  }
  // The administrator's decision. Returns true if the drain begins now.
  bool SetDrained(bool drained) { return !std::exchange(drained_, drained) && drained; }
  // The daemon stops. Returns true if that begins now.
  bool Stop(const std::string& why) {
    if (!stop_reason_.empty()) return false;
    stop_reason_ = why;
    return true;
  }

 private:
  bool drained_ = false;
  std::string stop_reason_;  // empty: it does not stop
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DRAIN_STATE_H_
