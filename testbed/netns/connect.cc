// SPDX-License-Identifier: Apache-2.0
#include "testbed/netns/connect.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace copse::netns {
namespace {

absl::StatusOr<sockaddr_in> Parse(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in result{};
  uint32_t port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port == 0 || port > 65535 ||
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &result.sin_addr) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("address: not IPv4:PORT (address=", address, ")"));
  }
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<uint16_t>(port));
  return result;
}

// A socket belongs to the namespace of the thread that created it.
absl::StatusOr<UniqueFd> SocketIn(const std::string& network_namespace) {
  const UniqueFd there(open(network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  if (!there.valid()) return absl::ErrnoToStatus(errno, network_namespace);
  const UniqueFd here(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  CHECK(here.valid());
  if (setns(there.get(), CLONE_NEWNET) != 0) return absl::ErrnoToStatus(errno, network_namespace);
  UniqueFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int error = errno;
  CHECK(setns(here.get(), CLONE_NEWNET) == 0);
  if (!made.valid()) return absl::ErrnoToStatus(error, "socket");
  return made;
}

}  // namespace

absl::StatusOr<UniqueFd> ConnectFrom(const std::string& network_namespace, const std::string& address,
                                     absl::Duration timeout) {
  ASSIGN_OR_RETURN(const sockaddr_in to, Parse(address));
  ASSIGN_OR_RETURN(UniqueFd made, SocketIn(network_namespace));
  int error = connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd event = {made.get(), POLLOUT, 0};
    socklen_t size = sizeof(error);
    error = ETIMEDOUT;
    if (poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout)) + 1) == 1) {
      getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot connect: ", strerror(error), " (address=", address, ")"));
  }
  return made;
}

}  // namespace copse::netns
