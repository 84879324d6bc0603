// SPDX-License-Identifier: Apache-2.0
#include "client/run/lease.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/run/kept_program.h"

namespace copse::run {
namespace {

// Nodes of a job. Connections that nobody accepts wait in this queue; the kernel lowers it to somaxconn.
constexpr int kNodesMax = 65535;
// A machine that is silent for so long has gone.
constexpr int kIdleSeconds = 5, kProbeSeconds = 5, kProbes = 3;

std::string Text(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
  return text;
}

sockaddr_in NameOf(int fd) {
  sockaddr_in address = {};
  socklen_t bytes = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
  return address;
}

bool IsLoopback(const sockaddr_in& address) { return (ntohl(address.sin_addr.s_addr) >> 24) == 127; }

// Returns an invalid descriptor if `to` is no address, or refuses at once.
UniqueFd StartConnecting(const std::string& to, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, to.c_str(), &address.sin_addr) != 1) return UniqueFd();
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto set = [&fd](int level, int option, int value) {
    setsockopt(fd.get(), level, option, &value, sizeof(value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  const int refused = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return refused == 0 || errno == EINPROGRESS ? std::move(fd) : UniqueFd();
}

bool IsConnected(int fd) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
}

}  // namespace

absl::StatusOr<LeaseListener> ListenForLeases() {
  LeaseListener listener = {.fd = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  if (!listener.fd.valid() || listen(listener.fd.get(), kNodesMax) != 0) {
    return absl::UnavailableError(absl::StrCat("a port for the nodes: ", std::strerror(errno)));
  }
  listener.port = ntohs(NameOf(listener.fd.get()).sin_port);
  return listener;
}

std::vector<std::string> OwnAddresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {"127.0.0.1"};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  std::vector<std::string> outside, inside;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET || (each->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_in address;
    std::memcpy(&address, each->ifa_addr, sizeof(address));
    (IsLoopback(address) ? inside : outside).push_back(Text(address));
  }
  if (outside.size() > kAddressesMax - 1) outside.resize(kAddressesMax - 1);
  if (!inside.empty()) outside.push_back(inside[0]);
  return outside;
}

absl::StatusOr<Lease> TakeLease(const std::vector<std::string>& addresses, uint16_t port, absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  std::vector<UniqueFd> tries;
  std::vector<pollfd> events;
  for (const std::string& address : addresses) {
    tries.push_back(StartConnecting(address, port));
    events.push_back({.fd = tries.back().valid() ? tries.back().get() : -1, .events = POLLOUT, .revents = 0});
  }
  while (std::any_of(events.begin(), events.end(), [](const pollfd& event) { return event.fd >= 0; })) {
    if (poll(events.data(), events.size(), TimeoutMs(deadline)) == 0) break;
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i].fd < 0 || events[i].revents == 0) continue;
      if (IsConnected(events[i].fd)) {
        std::string here = Text(NameOf(events[i].fd));
        return Lease{.fd = std::move(tries[i]), .there = addresses[i], .here = std::move(here)};
      }
      events[i].fd = -1;
    }
  }
  return absl::UnavailableError(absl::StrCat(
      "the launching machine cannot be reached (addresses=", absl::StrJoin(addresses, " "), ", port=", port, ")"));
}

}  // namespace copse::run
