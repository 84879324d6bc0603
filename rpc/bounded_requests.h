// SPDX-License-Identifier: Apache-2.0
//
// Bounds what callers cost a gRPC server before anybody is asked whether they may call.
#ifndef COPSE_RPC_BOUNDED_REQUESTS_H_
#define COPSE_RPC_BOUNDED_REQUESTS_H_

#include <grpcpp/server_builder.h>

#include <cstddef>

namespace copse::rpc {

// The server built next takes no request of more than `request_bytes`. gRPC says so to a caller only when it has the
// whole request, whatever its length, so all that the server has read and not answered is bounded too: beyond
// kRequestsBytesMax gRPC ends idle connections, and then calls (RESOURCE_EXHAUSTED), without knowing whose. It is a
// bound for servers whose calls are short and may be made again.
inline constexpr size_t kRequestsBytesMax = size_t{16} << 20;
void BoundRequests(int request_bytes, grpc::ServerBuilder* builder);

}  // namespace copse::rpc

#endif  // COPSE_RPC_BOUNDED_REQUESTS_H_
