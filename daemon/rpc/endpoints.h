// SPDX-License-Identifier: Apache-2.0
//
// Checks the settings of RPCs before servers and streams are started.
#ifndef COPSE_DAEMON_RPC_ENDPOINTS_H_
#define COPSE_DAEMON_RPC_ENDPOINTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::daemon {

// Checks both addresses. Errors: INVALID_ARGUMENT if an address is not HOST:PORT or unix:PATH, or beyond loopback
// without `insecure`. The text names the key.
absl::Status CheckEndpoints(const std::string& planner, const std::string& admin_listen, bool insecure);

// Returns the first token of the file, with which the daemon joins; "" for an empty path. Errors: those of
// rpc::ReadTokenFile; the text names the key.
absl::StatusOr<std::string> ReadJoinToken(const std::string& path);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_ENDPOINTS_H_
