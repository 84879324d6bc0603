// SPDX-License-Identifier: Apache-2.0
//
// copsed's configuration keys, and their values, checked.
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

// Returns all keys with defaults and comments.
config::Config NewConfig();

// The settings that can change while the daemon runs (SIGHUP).
struct LiveSettings {
  absl::Duration heartbeat;
  absl::Duration node_timeout;
  absl::Duration drain_timeout;
  absl::Duration spin;
  std::string join_token;
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;
};
// Whether the key belongs to LiveSettings.
bool IsLive(const std::string& key);

struct Settings {
  std::string node;
  std::string planner;
  std::string admin_listen;
  // Sockets to listen on; at least one must work. The first must not be another daemon's.
  std::vector<std::string> sockets;
  std::string net_devices;  // in UCX's format
  std::string transports;   // in UCX's format; "": UCX's environment decides
  uint64_t memory_limit_bytes = 0;
  uint64_t client_memory_limit_bytes = 0;
  uint32_t trace_records = 0;
  uint32_t clients_max = 0;
  absl::Duration team_formation_timeout;
  bool insecure = false;
  LiveSettings live;
};

// Reads this machine's name, its interfaces, and the token file. Errors name the key.
absl::StatusOr<Settings> ReadSettings(const config::Config& config);
absl::StatusOr<LiveSettings> ReadLiveSettings(const config::Config& config);

// Checks that the daemon's files (the socket, the log) can be created. Errors name the key.
absl::Status CheckPlaces(const config::Config& config, const Settings& settings);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SETTINGS_H_
