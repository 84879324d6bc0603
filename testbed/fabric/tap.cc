// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/tap.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "testbed/fabric/frame.h"

namespace copse::fabric {
namespace {

// Length of the kernel's transmit queue. The queues with limits are the fabric's; this one must not fill up first.
constexpr int kTransmitQueue = 4096;

absl::StatusOr<UniqueFd> Open(const std::string& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
  return fd;
}

absl::Status Control(int fd, unsigned long request, void* argument, const char* what) {
  if (ioctl(fd, request, argument) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, what);
}

ifreq Request() {
  ifreq request = {};
  std::memcpy(request.ifr_name, kDevice, sizeof(kDevice));
  return request;
}

void SetAddress(uint32_t address, sockaddr* out) {
  const sockaddr_in in = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(address)}, .sin_zero = {}};
  std::memcpy(out, &in, sizeof(in));
}

absl::Status Configure(uint32_t node, uint32_t mtu) {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return absl::ErrnoToStatus(errno, "socket");
  ifreq request = Request();
  const MacAddress mac = MacOf(node);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::copy(mac.begin(), mac.end(), request.ifr_hwaddr.sa_data);
  RETURN_IF_ERROR(Control(socket_fd.get(), SIOCSIFHWADDR, &request, "MAC address"));
  request = Request();
  request.ifr_mtu = static_cast<int>(mtu);
  RETURN_IF_ERROR(Control(socket_fd.get(), SIOCSIFMTU, &request, "MTU"));
  request = Request();
  request.ifr_qlen = kTransmitQueue;
  RETURN_IF_ERROR(Control(socket_fd.get(), SIOCSIFTXQLEN, &request, "queue length"));
  // IPv6 would only send its solicitations. Where it cannot be turned off, they are flooded.
  const absl::StatusOr<UniqueFd> ipv6 =
      Open(absl::StrCat("/proc/sys/net/ipv6/conf/", kDevice, "/disable_ipv6"), O_WRONLY);
  if (ipv6.ok()) (void)!write(ipv6->get(), "1", 1);
  request = Request();
  SetAddress(AddressOf(node), &request.ifr_addr);
  RETURN_IF_ERROR(Control(socket_fd.get(), SIOCSIFADDR, &request, "address"));
  request = Request();
  SetAddress(kNetmask, &request.ifr_netmask);
  RETURN_IF_ERROR(Control(socket_fd.get(), SIOCSIFNETMASK, &request, "netmask"));
  request = Request();
  RETURN_IF_ERROR(Control(socket_fd.get(), SIOCGIFFLAGS, &request, "flags"));
  request.ifr_flags |= IFF_UP | IFF_RUNNING;
  return Control(socket_fd.get(), SIOCSIFFLAGS, &request, "bring up");
}

// The request of `ip neighbor add ADDRESS lladdr MAC nud permanent`.
struct NeighborRequest {
  nlmsghdr header;
  ndmsg message;
  rtattr address_header;
  uint32_t address;
  rtattr mac_header;
  MacAddress mac;
  uint8_t padding[2];
};

static_assert(sizeof(NeighborRequest) == 48, "as on the socket");

absl::Status AddNeighbors(uint32_t node, uint32_t node_count) {
  const auto device = static_cast<int>(if_nametoindex(kDevice));
  std::vector<NeighborRequest> requests;
  for (uint32_t other = 0; other < node_count; ++other) {
    if (other == node) continue;
    requests.push_back({.header = {.nlmsg_len = sizeof(NeighborRequest),
                                   .nlmsg_type = RTM_NEWNEIGH,
                                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE,
                                   .nlmsg_seq = other,
                                   .nlmsg_pid = 0},
                        .message = {.ndm_family = AF_INET,
                                    .ndm_pad1 = 0,
                                    .ndm_pad2 = 0,
                                    .ndm_ifindex = device,
                                    .ndm_state = NUD_PERMANENT,
                                    .ndm_flags = 0,
                                    .ndm_type = 0},
                        .address_header = {.rta_len = RTA_LENGTH(4), .rta_type = NDA_DST},
                        .address = htonl(AddressOf(other)),
                        .mac_header = {.rta_len = RTA_LENGTH(6), .rta_type = NDA_LLADDR},
                        .mac = MacOf(other),
                        .padding = {}});
  }
  if (requests.empty()) return absl::OkStatus();
  // Errors are acknowledged, and so is the last request.
  requests.back().header.nlmsg_flags |= NLM_F_ACK;
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const size_t bytes = requests.size() * sizeof(NeighborRequest);
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[256];
  } answer;
  if (send(netlink.get(), requests.data(), bytes, 0) != static_cast<ssize_t>(bytes) ||
      recv(netlink.get(), &answer, sizeof(answer), 0) < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(int)))) {
    return absl::ErrnoToStatus(errno, "neighbors");
  }
  return answer.error.error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(-answer.error.error, "neighbors");
}

absl::StatusOr<UniqueFd> MakeHere(uint32_t node, uint32_t node_count, uint32_t mtu) {
  ASSIGN_OR_RETURN(UniqueFd tap, Open("/dev/net/tun", O_RDWR | O_NONBLOCK));
  ifreq request = Request();
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);
  RETURN_IF_ERROR(Control(tap.get(), TUNSETIFF, &request, "TUNSETIFF"));
  RETURN_IF_ERROR(Configure(node, mtu));
  if (node_count <= kNeighborsMax) RETURN_IF_ERROR(AddNeighbors(node, node_count));
  return tap;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenTap(const std::string& netns, uint32_t node, uint32_t node_count, uint32_t mtu) {
  ASSIGN_OR_RETURN(const UniqueFd home, Open("/proc/thread-self/ns/net", O_RDONLY));
  ASSIGN_OR_RETURN(const UniqueFd away, Open(netns, O_RDONLY));
  if (setns(away.get(), CLONE_NEWNET) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(netns, ": enter"));
  absl::StatusOr<UniqueFd> tap = MakeHere(node, node_count, mtu);
  CHECK_EQ(setns(home.get(), CLONE_NEWNET), 0);
  if (tap.ok()) return tap;
  return absl::Status(tap.status().code(), absl::StrCat(netns, ": ", kDevice, ": ", tap.status().message()));
}

absl::Status SetOffload(int tap, bool super_packets) {
  const unsigned int offload = super_packets ? TUN_F_CSUM | TUN_F_TSO4 : TUN_F_CSUM;
  if (ioctl(tap, TUNSETOFFLOAD, offload) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "TUNSETOFFLOAD");
}

}  // namespace copse::fabric
