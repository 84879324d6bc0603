// SPDX-License-Identifier: Apache-2.0

#include "base/process/service_manager.h"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace copse {

ServiceManager::ServiceManager() {
  uint64_t watchdog_us = 0;
  if (sd_watchdog_enabled(/*unset_environment=*/1, &watchdog_us) <= 0) return;
  ping_every_ = absl::Microseconds(static_cast<int64_t>(watchdog_us)) / 3;
  next_ping_ = absl::InfinitePast();
}

void ServiceManager::Ready(const std::string& status) {
  sd_notify(0, absl::StrCat("READY=1\nSTATUS=", status).c_str());
}

void ServiceManager::Status(const std::string& status) { sd_notify(0, absl::StrCat("STATUS=", status).c_str()); }

void ServiceManager::Reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  sd_notify(
      0,
      absl::StrCat("RELOADING=1\nMONOTONIC_USEC=", absl::ToInt64Microseconds(absl::DurationFromTimespec(now))).c_str());
}

void ServiceManager::Reloaded() { sd_notify(0, "READY=1"); }

void ServiceManager::Stopping(const std::string& status) {
  sd_notify(0, absl::StrCat("STOPPING=1\nSTATUS=", status).c_str());
}

void ServiceManager::Tick(absl::Time now) {
  if (now < next_ping_) return;
  next_ping_ = now + ping_every_;
  sd_notify(0, "WATCHDOG=1");
}

}  // namespace copse
