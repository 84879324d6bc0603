// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/socket_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::emu {
namespace {

absl::Status Invalid(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("no numeric address (address=", absl::string_view(text.data(), text.size()),
                   ", wanted=A.B.C.D:PORT or [V6]:PORT)"));
}

absl::Status Unavailable(std::string_view call, const SocketAddress& address, int error) {
  return absl::UnavailableError(absl::StrCat(absl::string_view(call.data(), call.size()), ": ", std::strerror(error),
                                             " (address=", address.ToString(), ")"));
}

}  // namespace

absl::StatusOr<SocketAddress> SocketAddress::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return Invalid(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  uint32_t port = 0;
  if (!absl::SimpleAtoi(absl::string_view(port_text.data(), port_text.size()), &port) || port > 65535) {
    return Invalid(text);
  }
  SocketAddress address;
  if (host.front() == '[' && host.back() == ']') {
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage_);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    address.bytes_ = sizeof(*v6);
    if (inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &v6->sin6_addr) == 1) return address;
    return Invalid(text);
  }
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage_);
  v4->sin_family = AF_INET;
  v4->sin_port = htons(static_cast<uint16_t>(port));
  address.bytes_ = sizeof(*v4);
  if (inet_pton(AF_INET, std::string(host).c_str(), &v4->sin_addr) == 1) return address;
  return Invalid(text);
}

absl::StatusOr<SocketAddress> SocketAddress::OfSocket(int fd) {
  SocketAddress address;
  address.bytes_ = sizeof(address.storage_);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.bytes_) != 0) {
    return absl::UnavailableError(absl::StrCat("getsockname: ", std::strerror(errno)));
  }
  return address;
}

uint16_t SocketAddress::port() const {
  return ntohs(storage_.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port
                                              : reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

std::string SocketAddress::ToString() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (storage_.ss_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
    return absl::StrCat("[", host, "]:", port());
  }
  const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
  inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
  return absl::StrCat(host, ":", port());
}

absl::StatusOr<UniqueFd> SocketAddress::NewSocket() const {
  UniqueFd fd(socket(storage_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Unavailable("socket", *this, errno);
  return fd;
}

absl::StatusOr<UniqueFd> SocketAddress::Bind() const {
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket());
  // A daemon that is started again can bind its port while its predecessor's connections are in TIME_WAIT. Without a
  // given port, the option is set after bind: with it, the kernel might choose a port that another daemon has bound but
  // does not listen on yet.
  const int on = 1;
  if (port() != 0) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage_), bytes_) != 0) {
    return Unavailable("bind", *this, errno);
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return fd;
}

absl::StatusOr<UniqueFd> SocketAddress::Connect() const {
  ASSIGN_OR_RETURN(UniqueFd fd, NewSocket());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage_), bytes_) != 0 && errno != EINPROGRESS) {
    return Unavailable("connect", *this, errno);
  }
  return fd;
}

}  // namespace copse::emu
