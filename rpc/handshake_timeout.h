// SPDX-License-Identifier: Apache-2.0
//
// Bounds the time that a server keeps a connection of which it does not know yet who it is.
#ifndef COPSE_RPC_HANDSHAKE_TIMEOUT_H_
#define COPSE_RPC_HANDSHAKE_TIMEOUT_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/time/time.h"

namespace copse::rpc {

inline constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);

// Makes the server close connections that have not finished their handshake, and begun to speak HTTP/2, in time.
// Without it gRPC waits two minutes.
inline void BoundHandshakes(grpc::ServerBuilder* builder, absl::Duration timeout = kHandshakeTimeout) {
  const absl::Duration bound = std::min(timeout, kHandshakeTimeout);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(absl::ToInt64Milliseconds(bound)));
}

}  // namespace copse::rpc

#endif  // COPSE_RPC_HANDSHAKE_TIMEOUT_H_
