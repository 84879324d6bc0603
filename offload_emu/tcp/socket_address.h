// SPDX-License-Identifier: Apache-2.0
//
// Holds numeric addresses of TCP sockets, and makes sockets that do not block.
#ifndef COPSE_OFFLOAD_EMU_TCP_SOCKET_ADDRESS_H_
#define COPSE_OFFLOAD_EMU_TCP_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace copse::emu {

// A SocketAddress is an IPv4 or IPv6 address with a port.
class SocketAddress {
 public:
  // Reads "127.0.0.1:4000" or "[::1]:4000". INVALID_ARGUMENT for anything else; host names are not looked up.
  static absl::StatusOr<SocketAddress> Parse(std::string_view text);
  // Returns the address to which the socket is bound. Errors: getsockname's.
  static absl::StatusOr<SocketAddress> OfSocket(int fd);

  uint16_t port() const;
  std::string ToString() const;

  // Returns a socket that is bound here and does not listen yet, so that nobody can connect. Errors: UNAVAILABLE, with
  // the address.
  absl::StatusOr<UniqueFd> Bind() const;
  // Begins to connect a new socket to this address. Errors: connect's that are known at once. UNAVAILABLE.
  absl::StatusOr<UniqueFd> Connect() const;

 private:
  SocketAddress() = default;
  absl::StatusOr<UniqueFd> NewSocket() const;

  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_SOCKET_ADDRESS_H_
