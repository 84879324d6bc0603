// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/packet_socket.h"

#include <errno.h>
#include <sys/socket.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace copse::daemon {
namespace {

constexpr int kReceiveTries = 8;

void TakeDescriptors(msghdr* header, Packet* packet) {
  for (cmsghdr* control = CMSG_FIRSTHDR(header); control != nullptr; control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(fd));
      packet->descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

absl::StatusOr<Receipt> ReceivePacket(int socket, Packet* packet) {
  packet->descriptors.clear();
  packet->bytes.resize(attach::kMessageBytesMax);
  iovec data{packet->bytes.data(), packet->bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsMax * sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  ssize_t received = -1;
  for (int i = 0; i < kReceiveTries && received < 0; ++i) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    received = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received >= 0) break;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Receipt::kNothing;
    // ECONNRESET (the peer left answers unread) comes once; the peer's earlier packets can still be read.
    if (errno != EINTR && errno != ECONNRESET) return absl::ErrnoToStatus(errno, "recvmsg");
  }
  if (received <= 0) return Receipt::kClosed;
  TakeDescriptors(&header, packet);
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("message: too long (limit=", attach::kMessageBytesMax, ")"));
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("message: too many descriptors (limit=", kDescriptorsMax, ")"));
  }
  packet->bytes.resize(static_cast<size_t>(received));
  return Receipt::kPacket;
}

absl::Status SendBytes(int socket, absl::Span<const uint8_t> bytes, absl::Span<const int> descriptors) {
  iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptorsMax * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  }
  while (sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS) {
      return absl::ResourceExhaustedError("it does not read its socket");
    }
    return absl::UnavailableError(absl::StrCat("sendmsg: ", strerror(errno)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> GetText(const char* what, absl::Span<const char> field) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  if (end == field.end()) return absl::InvalidArgumentError(absl::StrCat("message: ", what, " is not terminated"));
  if (!std::all_of(field.begin(), end, [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); })) {
    return absl::InvalidArgumentError(absl::StrCat("message: ", what, " is not printable ASCII"));
  }
  return std::string(field.begin(), end);
}

}  // namespace copse::daemon
