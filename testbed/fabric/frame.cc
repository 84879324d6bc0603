// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/frame.h"

#include <algorithm>
#include <cstring>

namespace copse::fabric {
namespace {

// The last four bytes of a MAC address are the node's number.
constexpr uint8_t kMacPrefix[2] = {0x02, 0x77};
constexpr uint32_t kNetwork = 10u << 24 | 77u << 16;

uint32_t Read32(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | uint32_t{at[3]};
}
void Write32(uint32_t value, uint8_t* at) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

uint32_t WireBytes(size_t frame_bytes) {
  return std::max(static_cast<uint32_t>(frame_bytes), kFrameBytesMin) + kFramingBytes;
}

}  // namespace

MacAddress MacOf(uint32_t node) {
  MacAddress mac = {kMacPrefix[0], kMacPrefix[1]};
  Write32(node + 1, mac.data() + 2);
  return mac;
}

uint32_t AddressOf(uint32_t node) { return kNetwork | (node + 1); }

uint32_t DestinationOf(absl::Span<const uint8_t> frame, uint32_t node_count) {
  if (frame.size() < kEthernetHeaderBytes) return kNone;
  if (frame[0] & 1) return kEveryone;
  if (std::memcmp(frame.data(), kMacPrefix, sizeof(kMacPrefix)) != 0) return kNone;
  const uint32_t number = Read32(frame.data() + 2);
  return number >= 1 && number <= node_count ? number - 1 : kNone;
}

PacketShape ShapeOf(const VnetHeader& header, absl::Span<const uint8_t> frame) {
  const size_t tcp = header.csum_start;
  if (header.gso_type == kGsoNone || header.gso_size == 0 || tcp + 20 > frame.size()) {
    return SinglePacket(WireBytes(frame.size()));
  }
  // Each packet repeats the headers up to TCP's end, for which hdr_len is only a hint.
  const size_t headers = tcp + size_t{4} * (frame[tcp + 12] >> 4);
  if (headers >= frame.size()) return SinglePacket(WireBytes(frame.size()));
  const size_t payload = frame.size() - headers;
  const size_t packets = (payload + header.gso_size - 1) / header.gso_size;
  if (packets == 1) return SinglePacket(WireBytes(frame.size()));
  const uint32_t first = WireBytes(headers + header.gso_size);
  const uint32_t last = WireBytes(headers + payload - (packets - 1) * header.gso_size);
  return {.wire_bytes = static_cast<uint32_t>(packets - 1) * first + last,
          .first_bytes = first,
          .last_bytes = last,
          .packets = static_cast<uint32_t>(packets)};
}

std::optional<ArpAnswer> AnswerArp(absl::Span<const uint8_t> frame, uint32_t from, uint32_t node_count) {
  ArpAnswer answer;
  if (frame.size() < answer.size()) return std::nullopt;
  // The bytes are EtherType, then: Ethernet, IPv4, their lengths, request.
  static constexpr uint8_t kRequest[] = {0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1};
  if (std::memcmp(frame.data() + 12, kRequest, sizeof(kRequest)) != 0) return std::nullopt;
  constexpr size_t kSenderMac = 22, kSenderAddress = 28, kTargetMac = 32, kTargetAddress = 38;
  const uint32_t wanted = Read32(frame.data() + kTargetAddress);
  const uint32_t target = wanted - AddressOf(0);
  if (wanted < AddressOf(0) || target >= node_count || target == from) return std::nullopt;
  const MacAddress mac = MacOf(target);
  std::memcpy(answer.data(), frame.data() + 6, 6);
  std::memcpy(answer.data() + 6, mac.data(), 6);
  std::memcpy(answer.data() + 12, kRequest, sizeof(kRequest));
  answer[21] = 2;  // reply
  std::memcpy(answer.data() + kSenderMac, mac.data(), 6);
  std::memcpy(answer.data() + kSenderAddress, frame.data() + kTargetAddress, 4);
  std::memcpy(answer.data() + kTargetMac, frame.data() + kSenderMac, 10);
  return answer;
}

}  // namespace copse::fabric
