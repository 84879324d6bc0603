// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/flight_limit.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace copse::emu {

FlightLimit::FlightLimit(int fd) : fd_(fd) { Apply(); }

uint64_t FlightLimit::UnderWay() const {
  int bytes = 0;
  return ioctl(fd_, SIOCOUTQ, &bytes) == 0 ? static_cast<uint64_t>(bytes) : 0;
}

void FlightLimit::OnWrite(absl::Time now, uint64_t taken, uint64_t under_way) {
  if (!window_.OnWrite(now, taken - under_way, under_way)) return;
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return window_.OnIdle();
  window_.Adapt(absl::Microseconds(info.tcpi_min_rtt));
  if (window_.bytes() != applied_) Apply();
}

void FlightLimit::Apply() {
  applied_ = window_.bytes();
  // The kernel doubles what it is given.
  const auto wanted = static_cast<int>(applied_ / 2);
  if (setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof(wanted)) == 0) return;
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
  int given = 0;
  socklen_t size = sizeof(given);
  getsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &given, &size);
  if (given >= 2 * wanted) return;
  // More than net.core.wmem_max: the kernel chooses, up to tcp_wmem. Before Linux 5.14 what it has given stays.
  const int unlocked = 0;
  setsockopt(fd_, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof(unlocked));
}

}  // namespace copse::emu
