// SPDX-License-Identifier: Apache-2.0
//
// Checks the RPC settings before anything is started.
#ifndef COPSE_DAEMON_RPC_ENDPOINTS_H_
#define COPSE_DAEMON_RPC_ENDPOINTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::daemon {

// Errors: INVALID_ARGUMENT if an address is not HOST:PORT, or beyond loopback without `insecure`. The text names the
// key.
absl::Status CheckEndpoints(const std::string& planner, const std::string& admin_listen, bool insecure);

// Returns the token with which the daemon joins; "" for an empty path.
absl::StatusOr<std::string> ReadJoinToken(const std::string& path);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_ENDPOINTS_H_
