// SPDX-License-Identifier: Apache-2.0
//
// Sends notifications to systemd, if it has started the program (Type=notify, WatchdogSec=).
#ifndef COPSE_BASE_PROCESS_SERVICE_MANAGER_H_
#define COPSE_BASE_PROCESS_SERVICE_MANAGER_H_

#include <string>

#include "absl/time/time.h"

namespace copse {

// A ServiceManager notifies systemd of the program's states, and serves its watchdog. It does nothing if the
// environment has no NOTIFY_SOCKET. Thread-compatible.
class ServiceManager {
 public:
  ServiceManager();

  void Ready(const std::string& status);
  void Status(const std::string& status);
  void Reloading();
  void Reloaded();  // the status is as before
  void Stopping(const std::string& status);

  // Notifies the watchdog, three times in its period. The loop calls this, so systemd restarts a program whose loop is
  // stuck.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const { return next_ping_; }

 private:
  absl::Duration ping_every_ = absl::InfiniteDuration();
  absl::Time next_ping_ = absl::InfiniteFuture();
};

}  // namespace copse

#endif  // COPSE_BASE_PROCESS_SERVICE_MANAGER_H_
