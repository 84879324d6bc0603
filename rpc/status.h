// SPDX-License-Identifier: Apache-2.0
//
// Converts between absl::Status and gRPC's, and to a program's exit code.
#ifndef COPSE_RPC_STATUS_H_
#define COPSE_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace copse::rpc {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// Returns 0 for OK, 2 for INVALID_ARGUMENT (bad usage), 3 for UNAVAILABLE (server unreachable), 4 for DEADLINE_EXCEEDED
// (timed out), 1 for all other errors.
int ExitCode(const absl::Status& status);

}  // namespace copse::rpc

#endif  // COPSE_RPC_STATUS_H_
