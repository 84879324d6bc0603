// SPDX-License-Identifier: Apache-2.0
//
// What two daemons say to each other beside calls' packets: control frames along committed edges.
#ifndef COPSE_DAEMON_CORE_PEERS_PEER_MESSAGES_H_
#define COPSE_DAEMON_CORE_PEERS_PEER_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::daemon {

// The values go over the wire: never renumber.
enum class PeerMessageType : uint16_t {
  kHeartbeat = 1,
  kBreak = 2,
  kArguments = 3,
  kLeft = 4,
  kEpochAsk = 5,
  kEpochAnswer = 6,
  kMeterPing = 7,
  kMeterPong = 8,
  kMeterBulk = 9,
  kMeterAck = 10,
  kMeterEnd = 11,
  kPartAsk = 12,
  kPartAnswer = 13,
  kCalls = 14,
  kCallsDiffer = 15,
};

struct HeartbeatMessage {};

// The team is broken: the sweep along its edges.
struct BreakMessage {
  TeamId team{0};
  schedule::FailureReport why;
};

// "Rank `rank` of ours gave these arguments for this call": sent when a packet's hash did not match, and by whoever
// waits long. The receiver compares, and breaks the team if they differ.
struct ArgumentsMessage {
  TeamId team{0};
  CallSeq sequence{0};
  Rank rank{0};
  std::string node;
  CallArguments arguments;
};

// Ranks of the sender's node have left the team, the first of them, `rank`, after this many calls.
struct LeftMessage {
  TeamId team{0};
  CallSeq calls{0};
  Rank rank{0};
  bool all = false;  // no rank of the node is in the team any more
};

// The sender holds a prepared epoch without a decision and asks what its neighbour knows.
struct EpochAskMessage {
  TeamId team{0};
  EpochId epoch{0};
};
struct EpochAnswerMessage {
  TeamId team{0};
  EpochId epoch{0};
  bool committed = false;
  CallSeq first_call{0};
  uint32_t label = 0;  // that the sender issued for the asker in this epoch; 0: no edge
};

// --- Measurements between two daemons (pair_meters.h); `query` is the planner's number for one ---
struct MeterPing {
  uint64_t query = 0;
  uint32_t number = 0;
};
struct MeterPong {
  uint64_t query = 0;
  uint32_t number = 0;  // of the ping
  int64_t send_ns = 0;  // what sending a pong, and receiving a ping, have taken the sender of this
  int64_t receive_ns = 0;
};
// Fills a frame; `bytes` counts all that follows the frame's header.
inline constexpr uint32_t kMeterBulkBytes = 16'000;
struct MeterBulk {
  uint64_t query = 0;
  uint32_t bytes = kMeterBulkBytes;
  uint32_t ack_every = 0;  // bytes between two MeterAcks
  bool last = false;       // of all: to be acknowledged at once
};
struct MeterAck {
  uint64_t query = 0;
  uint64_t bytes = 0;  // received in all
  int64_t at_ns = 0;   // by the receiver's clock, since its measurement began
};
struct MeterEnd {
  uint64_t query = 0;
};
using MeterMessage = std::variant<MeterPing, MeterPong, MeterBulk, MeterAck, MeterEnd>;

// The sender has no use for the connection any more; may it close it (connections.h)? The answer repeats the number.
struct PartAskMessage {
  uint64_t number = 0;
};
struct PartAnswerMessage {
  uint64_t number = 0;
  bool agreed = false;
};

// Calls of the sender's ranks in a team and its companions (call_history.h), of whoever waits long.
inline constexpr uint32_t kCallsPerMessageMax = 64;
struct CallsMessage {
  TeamId team{0};
  uint64_t first = 0;
  std::vector<uint16_t> hashes;
};
// The answer, if one of them is different at the sender: the receiver breaks the team.
struct CallsDifferMessage {
  TeamId team{0};
  uint64_t number = 0;
  Rank rank{0};
  std::string node;
  CallArguments arguments;
};

using PeerMessage = std::variant<HeartbeatMessage, BreakMessage, ArgumentsMessage, LeftMessage, EpochAskMessage,
                                 EpochAnswerMessage, MeterPing, MeterPong, MeterBulk, MeterAck, MeterEnd,
                                 PartAskMessage, PartAnswerMessage, CallsMessage, CallsDifferMessage>;
// The team that the message is about; 0: none.
TeamId TeamOf(const PeerMessage& message);
// Set if the message is one of a measurement.
std::optional<MeterMessage> AsMeterMessage(const PeerMessage& message);

// Type and body of a control frame. Decode trusts nothing: INVALID_ARGUMENT for what it does not understand.
struct EncodedPeerMessage {
  uint16_t type = 0;
  std::string body;
};
EncodedPeerMessage EncodePeerMessage(const PeerMessage& message);
absl::StatusOr<PeerMessage> DecodePeerMessage(uint16_t type, std::string_view body);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_PEER_MESSAGES_H_
