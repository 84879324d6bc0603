// SPDX-License-Identifier: Apache-2.0
//
// What copsed can be told: its configuration keys, and their values, checked.
#ifndef COPSE_DAEMON_SETTINGS_H_
#define COPSE_DAEMON_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/config.h"
#include "base/log.h"

namespace copse::daemon {

// All keys with defaults and comments.
config::Config NewConfig();

// What can change while the daemon runs (SIGHUP).
struct LiveSettings {
  absl::Duration heartbeat;
  absl::Duration node_timeout;
  absl::Duration drain_timeout;
  absl::Duration spin;
  std::string join_token;
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;
};
// Keys of LiveSettings.
bool IsLive(const std::string& key);

struct Settings {
  std::string node;
  std::string planner;
  std::string admin_listen;
  // To listen on, at least on one. The first must not be another daemon's.
  std::vector<std::string> sockets;
  std::string net_devices;  // as UCX takes them
  std::string transports;   // as UCX takes them; "": as its environment says
  uint64_t memory_limit_bytes = 0;
  uint64_t client_memory_limit_bytes = 0;
  uint32_t trace_records = 0;
  uint32_t clients_max = 0;
  absl::Duration team_formation_timeout;
  bool insecure = false;
  LiveSettings live;
};

// Errors name the key. Looks at this machine: its name, its interfaces, the token file.
absl::StatusOr<Settings> ReadSettings(const config::Config& config);
absl::StatusOr<LiveSettings> ReadLiveSettings(const config::Config& config);

// Whether what the daemon will make (the socket, the log) can be made. Errors name the key.
absl::Status CheckPlaces(const config::Config& config, const Settings& settings);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SETTINGS_H_
