// SPDX-License-Identifier: Apache-2.0
//
// Declares copsed's configuration keys, and reads and checks their values.
#ifndef COPSE_DAEMON_SETTINGS_H_
#define COPSE_DAEMON_SETTINGS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/config/config.h"
#include "base/config/tls_files.h"
#include "base/log.h"
#include "daemon/accounts/quota_rules.h"
#include "daemon/net_devices.h"

namespace copse::daemon {

// Returns a configuration of all keys with their default values and comments.
config::Config NewConfig();

// LiveSettings are the settings that can change while the daemon runs (SIGHUP).
struct LiveSettings {
  absl::Duration heartbeat;
  absl::Duration node_timeout;
  absl::Duration drain_timeout;
  absl::Duration spin;
  std::string join_token;
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;
  QuotaRules quotas;
};
// Returns whether the key belongs to LiveSettings.
bool IsLive(const std::string& key);

struct Settings {
  std::string node;
  std::vector<std::string> planners;  // HOST:PORT each
  std::string admin_listen;
  // The daemon listens on the sockets of these names, one of which must work. The first must not belong to another
  // daemon.
  std::vector<std::string> sockets;
  TransportChoice transport;
  bool encrypts_data = false;
  std::array<uint8_t, 2> dscp{};  // of short and long frames
  config::TlsFiles tls;           // none: connections are not authenticated
  uint64_t memory_limit_bytes = 0;
  uint64_t client_memory_limit_bytes = 0;
  uint32_t trace_records = 0;
  uint32_t clients_max = 0;
  absl::Duration team_formation_timeout;
  bool daemons_form_sub_teams = true;
  bool insecure = false;
  bool core_memory = false;  // core dumps hold what is in memory
  std::string crash_file;    // written when the daemon dies of a bug; empty: none
  LiveSettings live;
};

// Returns the checked settings. ReadSettings also reads this machine's name and interfaces; both read the token file.
// Errors name the key.
absl::StatusOr<Settings> ReadSettings(const config::Config& config);
absl::StatusOr<LiveSettings> ReadLiveSettings(const config::Config& config);

// Checks that the daemon's files (a configured socket, the log) can be created. Errors name the key.
absl::Status CheckPlaces(const config::Config& config, const Settings& settings);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SETTINGS_H_
