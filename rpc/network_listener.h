// SPDX-License-Identifier: Apache-2.0
//
// Listens on the network for a gRPC server.
#ifndef COPSE_RPC_NETWORK_LISTENER_H_
#define COPSE_RPC_NETWORK_LISTENER_H_

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "rpc/accept_loop.h"
#include "rpc/credentials.h"

namespace copse::rpc {

// Returns sockets that listen on `address`, HOST:PORT or [V6]:PORT: of a host name's addresses those that work, and
// IPv6 and IPv4 for 0.0.0.0 and [::]. Port 0: any, the same for all. `key` is what users call the address.
// INVALID_ARGUMENT: as CheckAddress. UNAVAILABLE: "listen: cannot listen there: Address already in use
// (listen=127.0.0.1:7470)". Looks up host names, so it may block.
absl::StatusOr<std::vector<UniqueFd>> ListenOn(std::string_view key, const std::string& address);

struct NetworkListenerOptions {
  absl::Duration handshake = absl::Seconds(10);       // a connection has to finish its handshake in this time
  absl::Duration silence = absl::InfiniteDuration();  // and to take what it is sent
  absl::Duration idle = absl::Minutes(10);            // and ends after this time without a call
};

// A connection has at most this many calls at a time; more wait at the client. gRPC reads a request as a whole, be it
// longer than it may be, before anybody is asked whether its caller may make it.
inline constexpr int kCallsAtOnceMax = 32;

// A NetworkListener accepts connections and gives them to a gRPC server. Those for which there is no descriptor are
// closed, or wait (accept_loop.h).
class NetworkListener {
 public:
  // Listens for the server that `*builder` builds next. Errors: ListenOn's and CredentialsFactory::Server's.
  static absl::StatusOr<std::unique_ptr<NetworkListener>> Open(std::string_view key, const std::string& address,
                                                               const CredentialsFactory& credentials,
                                                               const NetworkListenerOptions& options,
                                                               grpc::ServerBuilder* builder);

  // Accepts from now on, since the server has started. UNAVAILABLE if it has not (null).
  absl::Status Serve(const grpc::Server* server);

  // Where it listens, HOST:PORT, with the port that it got.
  const std::string& address() const { return address_; }

 private:
  NetworkListener() = default;

  std::string key_, address_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::vector<UniqueFd> listeners_;
  std::unique_ptr<AcceptLoop> loop_;  // the first to end
};

}  // namespace copse::rpc

#endif  // COPSE_RPC_NETWORK_LISTENER_H_
