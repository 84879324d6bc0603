// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_RPC_GRPC_LOG_H_
#define COPSE_RPC_GRPC_LOG_H_

namespace copse::rpc {

// Passes what gRPC logs on to the program's log: a TLS handshake that failed as a warning, at most once a minute, and
// the rest, which our own errors say better, as debug lines. Also keeps OpenSSL as it is while the program exits, since
// gRPC's threads may use it until the end. Call it before gRPC is used.
void TakeGrpcLog();

}  // namespace copse::rpc

#endif  // COPSE_RPC_GRPC_LOG_H_
