// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_DAEMON_RPC_PLANNER_ACCESS_H_
#define COPSE_DAEMON_RPC_PLANNER_ACCESS_H_

#include <memory>

namespace copse::rpc {
class Identity;
}

namespace copse::daemon {

// PlannerAccess says how the daemon's gRPC is protected.
struct PlannerAccess {
  bool insecure = false;                          // without an identity: allows addresses beyond loopback
  std::shared_ptr<const rpc::Identity> identity;  // null: no TLS
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_PLANNER_ACCESS_H_
