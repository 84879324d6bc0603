// SPDX-License-Identifier: Apache-2.0
//
// Notifications to systemd, if it started the program (Type=notify, WatchdogSec=).
#ifndef COPSE_BASE_SERVICE_MANAGER_H_
#define COPSE_BASE_SERVICE_MANAGER_H_

#include <string>

#include "absl/time/time.h"

namespace copse {

// Thread-compatible. Does nothing without NOTIFY_SOCKET.
class ServiceManager {
 public:
  ServiceManager();

  void Ready(const std::string& status);
  void Status(const std::string& status);
  void Reloading();
  void Stopping(const std::string& status);

  // Notifies the watchdog if it is time to. The loop calls it, so a stuck loop is restarted.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const { return next_ping_; }

 private:
  absl::Duration ping_every_ = absl::InfiniteDuration();
  absl::Time next_ping_ = absl::InfiniteFuture();
};

}  // namespace copse

#endif  // COPSE_BASE_SERVICE_MANAGER_H_
