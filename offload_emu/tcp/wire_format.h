// SPDX-License-Identifier: Apache-2.0
//
// Defines what goes over a TCP connection between two daemons after its handshake. docs/reference/wire.md draws the
// bytes. All fields are little-endian and naturally aligned.
#ifndef COPSE_OFFLOAD_EMU_TCP_WIRE_FORMAT_H_
#define COPSE_OFFLOAD_EMU_TCP_WIRE_FORMAT_H_

#include <cstdint>

namespace copse::emu {

inline constexpr uint8_t kWireVersion = 1;

// Two daemons have two connections, so that a short frame does not wait behind long ones.
enum class LaneKind : uint8_t {
  kShort = 0,  // control messages and short frames
  kBulk = 1,
};
inline constexpr int kLaneCount = 2;

enum class WireKind : uint8_t {
  kHello = 1,   // the first message of each side; its payload is a WireHello
  kFrame = 2,   // its payload is a frame (offload_emu/packet.h)
  kAck = 3,     // no payload: `received` alone
  kBye = 4,     // no payload: the sender closes the connection between both daemons for good
  kRefuse = 5,  // no payload: answers a kHello; `number` is a Refusal
};

// A Refusal says why a kHello gets no kHello as its answer.
enum class Refusal : uint64_t {
  kOtherDaemon = 1,  // the daemon is not the one that the hello is for: that one has ended
  kDialsItself = 2,  // both daemons have connected to each other, and this connection is the one to be dropped
  kOtherNode = 3,    // the sender's certificate names another node than the one that has this incarnation
};

enum WireFlags : uint8_t {
  kWireEncrypted = 1,  // the payload is encrypted; else it is only authenticated
};

// A WireHeader begins every message. It is encrypted, and followed by a tag of its own, so that nothing in it is used
// before it is known to be the peer's. A payload follows it, and the payload's tag.
struct WireHeader {
  uint8_t version;    // kWireVersion
  uint8_t kind;       // WireKind
  uint8_t flags;      // WireFlags
  uint8_t lane;       // LaneKind
  uint32_t bytes;     // length of the payload, without its tag
  uint64_t number;    // kFrame: number of the frame in its lane, from 1, over all connections
  uint64_t received;  // number of the last frame of the lane that the sender has received; 0: none
  uint64_t after;     // kFrame: the receiver takes it after the frame of the other lane with this number; 0: at once
};
static_assert(sizeof(WireHeader) == 32);

// A session is the time from a daemon's Connect to its Disconnect of a peer; its number is random.
struct WireHello {
  uint64_t source;        // incarnation of the sender
  uint64_t destination;   // incarnation of the receiver
  uint64_t session;       // the sender's
  uint64_t peer_session;  // the receiver's, as far as the sender knows; 0: not yet
};
static_assert(sizeof(WireHello) == 32);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_WIRE_FORMAT_H_
