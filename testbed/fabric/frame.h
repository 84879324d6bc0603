// SPDX-License-Identifier: Apache-2.0
//
// Parses the parts of a TAP's packet that the fabric uses, and defines the TAPs' addresses.
#ifndef COPSE_TESTBED_FABRIC_FRAME_H_
#define COPSE_TESTBED_FABRIC_FRAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "testbed/fabric/switch_core.h"

namespace copse::fabric {

// The header before each frame: virtio_net_hdr, whose own header file is not C++.
struct VnetHeader {
  uint8_t flags = 0;
  uint8_t gso_type = 0;
  uint16_t header_bytes = 0;  // a hint only
  uint16_t gso_size = 0;      // payload of each packet of a super-packet
  uint16_t csum_start = 0;    // begin of the TCP header
  uint16_t csum_offset = 0;
};
static_assert(sizeof(VnetHeader) == 10);
inline constexpr uint8_t kGsoNone = 0;
inline constexpr uint8_t kGsoTcp4 = 1;

inline constexpr size_t kEthernetHeaderBytes = 14;
// A shorter frame is padded; each has a checksum, and preamble and gap before the next.
inline constexpr uint32_t kFrameBytesMin = 60;
inline constexpr uint32_t kFramingBytes = 24;
// The longest frame of a TAP: a super-packet.
inline constexpr size_t kFrameBytesMax = kEthernetHeaderBytes + 4 + 65535;

using MacAddress = std::array<uint8_t, 6>;

// The addresses of node i, counted from 0: its number is i + 1. Addresses are in the host's order.
MacAddress MacOf(uint32_t node);
uint32_t AddressOf(uint32_t node);                // 10.77.x.y
inline constexpr uint32_t kNetmask = 0xffff0000;  // /16

// Returns a node, kEveryone for broadcast and multicast, or kNone.
uint32_t DestinationOf(absl::Span<const uint8_t> frame, uint32_t node_count);

// Returns the shape of a TAP's frame, or of the packets that its super-packet stands for.
PacketShape ShapeOf(const VnetHeader& header, absl::Span<const uint8_t> frame);

// Returns the answer to a frame of node `from` that asks for another node's MAC address; nothing if it is no such
// frame.
using ArpAnswer = std::array<uint8_t, kEthernetHeaderBytes + 28>;
std::optional<ArpAnswer> AnswerArp(absl::Span<const uint8_t> frame, uint32_t from, uint32_t node_count);

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_FRAME_H_
