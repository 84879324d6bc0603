// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_RPC_PREPARE_GRPC_H_
#define COPSE_RPC_PREPARE_GRPC_H_

namespace copse::rpc {

// Call it before gRPC is used. Passes what gRPC logs on to the program's log: a TLS handshake that failed as a warning,
// at most once a minute, and the rest, which our own errors say better, as debug lines. Keeps OpenSSL as it is while
// the program exits, since gRPC's threads may use it until the end. Turns off what only costs processor time: Abseil's
// search for deadlocks, and session tickets of servers.
void PrepareGrpc();

}  // namespace copse::rpc

#endif  // COPSE_RPC_PREPARE_GRPC_H_
