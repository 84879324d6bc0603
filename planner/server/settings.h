// SPDX-License-Identifier: Apache-2.0
//
// Defines the keys of copse-planner's configuration, and the settings that are read from it.
#ifndef COPSE_PLANNER_SERVER_SETTINGS_H_
#define COPSE_PLANNER_SERVER_SETTINGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/config/config.h"
#include "base/config/tls_files.h"
#include "base/log.h"
#include "planner/coordinator/coordinator.h"
#include "planner/store/store_address.h"
#include "planner/threads/cluster_plan_maker.h"

namespace copse::planner {

// LiveSettings are read at start, and again at SIGHUP.
struct LiveSettings {
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;
  coordinator::CoordinatorOptions coordinator;
  ClusterModel model;
};

struct Settings {
  std::string listen;
  StoreAddress store;
  std::string store_key = "store";  // the key that names it: "store" or "state"
  std::string store_text;           // as configured, for display; "memory": none
  std::string advertise;            // HOST:PORT by which others reach this planner; empty: `listen`
  absl::Duration lease;             // of a leader's key in etcd
  config::TlsFiles etcd_tls;        // without revocation lists; none unless the store is encrypted
  config::TlsFiles tls;             // none: connections are not encrypted, and callers are not known
  bool insecure = false;
  bool core_memory = false;  // core dumps hold what is in memory
  std::string run_dir;       // folder of admin.sock and view.sock; empty: there are none
  bool private_data = false;
  absl::Duration node_timeout;
  LiveSettings live;
};

config::Config NewConfig();
// Returns the settings, with the content of the topology, rules and token files that the configuration names. Errors
// name key, value and limit; errors in topology and rules name file and line.
absl::StatusOr<Settings> ReadSettings(const config::Config& config);

// Checks that the files that the planner will write (its state, its log) are writable. Errors name the key.
absl::Status CheckPlaces(const Settings& settings);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_SETTINGS_H_
