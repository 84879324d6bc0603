// SPDX-License-Identifier: Apache-2.0
//
// Makes the daemon's channels to planners.
#ifndef COPSE_DAEMON_RPC_PLANNER_CHANNEL_H_
#define COPSE_DAEMON_RPC_PLANNER_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/rpc/planner_access.h"

namespace copse::daemon {

// Returns a channel with a connection of its own, so that the daemon and not gRPC decides when to connect again. Its
// keepalives detect a planner whose host vanished without closing the connection. INVALID_ARGUMENT if the address is
// invalid, or beyond loopback without an identity or `insecure`. `is_one_of_many`: a planner that does not answer the
// connection is given up soon, since another one may.
absl::StatusOr<std::shared_ptr<grpc::Channel>> NewPlannerChannel(const std::string& address,
                                                                 const PlannerAccess& access, bool is_one_of_many);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_PLANNER_CHANNEL_H_
