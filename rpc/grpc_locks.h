// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_RPC_GRPC_LOCKS_H_
#define COPSE_RPC_GRPC_LOCKS_H_

#include "absl/synchronization/mutex.h"

namespace copse::rpc {

// Turns off the search for deadlocks among gRPC's locks, which distributions leave on in Abseil: it follows every lock
// in a graph, and is a tenth of a planner's processor time with many daemons. Call it before gRPC is used.
inline void DoNotCheckGrpcLocks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace copse::rpc

#endif  // COPSE_RPC_GRPC_LOCKS_H_
