// SPDX-License-Identifier: Apache-2.0
#include "rpc/network_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::rpc {
namespace {

void Set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof(value)); }

// Returns a socket that listens there, or sets `*error` to an errno.
UniqueFd ListenAt(const sockaddr* where, socklen_t bytes, int* error) {
  UniqueFd fd(socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.valid()) {
    Set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // connections of an earlier server in TIME_WAIT do not matter
    if (where->sa_family == AF_INET6) {
      const bool is_any = IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(where)->sin6_addr);
      Set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, is_any ? 0 : 1);
    }
    if (bind(fd.get(), where, bytes) == 0 && listen(fd.get(), SOMAXCONN) == 0) return fd;
  }
  *error = errno;
  return UniqueFd();
}

uint16_t PortOf(int fd) {
  sockaddr_in6 where = {};  // IPv4 has the port at the same place
  socklen_t bytes = sizeof(where);
  getsockname(fd, reinterpret_cast<sockaddr*>(&where), &bytes);
  return ntohs(where.sin6_port);
}

}  // namespace

absl::StatusOr<std::vector<UniqueFd>> ListenOn(std::string_view key, const std::string& address) {
  ASSIGN_OR_RETURN(std::string host, HostOf(address));
  const std::string port = address.substr(address.rfind(':') + 1);
  std::vector<UniqueFd> listeners;
  int error = 0;
  if (host == "0.0.0.0" || host == "::") {
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<uint16_t>(std::stoi(port)));
    UniqueFd listener = ListenAt(reinterpret_cast<const sockaddr*>(&any), sizeof(any), &error);
    if (listener.valid()) {
      listeners.push_back(std::move(listener));
      return listeners;
    }
    if (error == EAFNOSUPPORT) host = "0.0.0.0";  // a machine without IPv6
  }
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const int looked_up = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  const absl::Cleanup free = [found] {
    if (found != nullptr) freeaddrinfo(found);
  };
  for (addrinfo* where = found; where != nullptr; where = where->ai_next) {
    // IPv6 has the port at the same place.
    if (!listeners.empty())
      reinterpret_cast<sockaddr_in*>(where->ai_addr)->sin_port = htons(PortOf(listeners[0].get()));
    UniqueFd listener = ListenAt(where->ai_addr, where->ai_addrlen, &error);
    if (listener.valid()) listeners.push_back(std::move(listener));
  }
  if (!listeners.empty()) return listeners;
  return absl::UnavailableError(absl::StrCat(
      AbslView(key), ": cannot listen there: ", looked_up == 0 ? std::strerror(error) : gai_strerror(looked_up), " (",
      AbslView(key), "=", address, ")"));
}

absl::StatusOr<std::unique_ptr<NetworkListener>> NetworkListener::Open(std::string_view key, const std::string& address,
                                                                       const CredentialsFactory& credentials,
                                                                       const NetworkListenerOptions& options,
                                                                       grpc::ServerBuilder* builder) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> server_credentials, credentials.Server(address));
  std::unique_ptr<NetworkListener> opened(new NetworkListener);
  ASSIGN_OR_RETURN(opened->listeners_, ListenOn(key, address));
  for (const UniqueFd& listener : opened->listeners_) {  // connections have what their listener has
    Set(listener.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    if (options.silence == absl::InfiniteDuration()) continue;
    Set(listener.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(absl::ToInt64Milliseconds(options.silence)));
  }
  opened->key_ = std::string(key);
  opened->address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", PortOf(opened->listeners_.front().get()));
  const auto set_ms = [&](const char* argument, absl::Duration time) {
    builder->AddChannelArgument(argument, static_cast<int>(absl::ToInt64Milliseconds(time)));
  };
  set_ms(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, options.handshake);  // without it gRPC waits two minutes
  set_ms(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsAtOnceMax);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);  // nobody asks gRPC for its records of each connection
  opened->acceptor_ = builder->experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, server_credentials);
  return opened;
}

absl::Status NetworkListener::Serve(const grpc::Server* server) {
  if (server == nullptr) {
    return absl::UnavailableError(absl::StrCat(key_, ": gRPC cannot serve there (", key_, "=", address_, ")"));
  }
  std::vector<int> listeners;
  for (const UniqueFd& listener : listeners_) listeners.push_back(listener.get());
  const int bound = ConnectionDescriptors().network;
  loop_ = std::make_unique<AcceptLoop>(std::move(listeners), [this, bound](int listener, UniqueFd connection) {
    if (connection.get() >= bound) return;
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection.release();
    acceptor_->HandleNewConnection(&parameters);
  });
  return absl::OkStatus();
}

}  // namespace copse::rpc
