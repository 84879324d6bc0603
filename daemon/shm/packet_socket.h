// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives messages of protocol/attach_protocol.h, with their descriptors, over a SOCK_SEQPACKET socket.
#ifndef COPSE_DAEMON_SHM_PACKET_SOCKET_H_
#define COPSE_DAEMON_SHM_PACKET_SOCKET_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/unique_fd.h"
#include "protocol/attach_protocol.h"

namespace copse::daemon {

// Limits the descriptors in a packet. It exceeds those of any message, so that a wrong number of them can be detected.
inline constexpr int kDescriptorsMax = 4;

struct Packet {
  std::vector<uint8_t> bytes;
  std::vector<UniqueFd> descriptors;

  // Copies the packet to `*message`. Returns false if it does not have exactly T's length.
  template <typename T>
  bool As(T* message) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes.size() != sizeof(T)) return false;
    memcpy(message, bytes.data(), sizeof(T));
    return true;
  }
};

enum class Receipt { kPacket, kNothing, kClosed };

// Receives one packet, without blocking. Returns kNothing if none is there, kClosed if the peer has closed the socket
// or sent an empty packet. Errors: INVALID_ARGUMENT: the packet is longer than any message, or has too many
// descriptors. Others: recvmsg's.
absl::StatusOr<Receipt> ReceivePacket(int socket, Packet* packet);

// Sends one packet, without blocking, with at most kDescriptorsMax descriptors. RESOURCE_EXHAUSTED: the socket is full,
// as the peer does not read. UNAVAILABLE: the peer is gone, or another error of sendmsg.
absl::Status SendBytes(int socket, absl::Span<const uint8_t> bytes, absl::Span<const int> descriptors);

template <typename T>
absl::Status SendMessage(int socket, const T& message, absl::Span<const int> descriptors = {}) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= attach::kMessageBytesMax);
  return SendBytes(socket, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&message), sizeof(T)), descriptors);
}

// Returns a message with its head filled in and all else zero.
template <typename T>
T NewMessage(attach::MessageType type, uint64_t request) {
  T message;
  memset(static_cast<void*>(&message), 0, sizeof(message));
  message.head.magic = attach::kMagic;
  message.head.type = static_cast<uint32_t>(type);
  message.head.request = request;
  return message;
}

// Copies `text` to the field, which must be zeroed; truncates it so that a NUL follows.
template <size_t n>
void SetText(char (&field)[n], std::string_view text) {
  memcpy(field, text.data(), std::min(text.size(), n - 1));
}

// Returns the text of `field`, named `what` in errors. INVALID_ARGUMENT unless it is NUL-terminated and printable
// ASCII.
absl::StatusOr<std::string> GetText(const char* what, absl::Span<const char> field);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_PACKET_SOCKET_H_
