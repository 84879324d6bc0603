// SPDX-License-Identifier: Apache-2.0
//
// Checks the settings of RPCs before servers and streams are started.
#ifndef COPSE_DAEMON_RPC_ENDPOINTS_H_
#define COPSE_DAEMON_RPC_ENDPOINTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::daemon {

// Returns the planners of a list with commas. Errors of both functions: INVALID_ARGUMENT if an address is not HOST:PORT
// or unix:PATH, or beyond loopback and `may_leave` is false. The text names the key.
absl::StatusOr<std::vector<std::string>> ParsePlanners(const std::string& list, bool may_leave);
absl::Status CheckAdminListen(const std::string& admin_listen, bool may_leave);

// Returns the first token of the file, with which the daemon joins; "" for an empty path. Errors: those of
// rpc::ReadTokenFile; the text names the key.
absl::StatusOr<std::string> ReadJoinToken(const std::string& path);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_ENDPOINTS_H_
