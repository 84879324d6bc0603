// SPDX-License-Identifier: Apache-2.0
//
// Defines the messages that two daemons exchange besides the packets of calls. Each is a control frame on the
// connection between them.
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

// The values are on the wire: never renumber them.
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
  kCloseRequest = 12,
  kCloseReply = 13,
  kCalls = 14,
  kCallsDiffer = 15,
};

struct HeartbeatMessage {};

// BreakMessage says that the team is broken, and why. Each member forwards it along the team's edges.
struct BreakMessage {
  TeamId team{0};
  schedule::FailureReport why;
};

// The sender's rank `rank` gave these arguments for this call. A daemon sends it when a packet's hash did not match,
// and when a call has waited for long. The receiver compares, and breaks the team if the arguments differ.
struct ArgumentsMessage {
  TeamId team{0};
  CallSeq sequence{0};
  Rank rank{0};
  std::string node;
  CallArguments arguments;
};

// Ranks of the sender's node have left the team. `rank` is the one of them that has made the fewest calls, `calls`.
struct LeftMessage {
  TeamId team{0};
  CallSeq calls{0};
  Rank rank{0};
  bool all = false;  // all ranks of the node have left
};

// The sender holds a prepared epoch without a decision, and asks its neighbor for the decision.
struct EpochAskMessage {
  TeamId team{0};
  EpochId epoch{0};
};
// EpochAnswerMessage answers an EpochAskMessage. `first_call` is valid if `committed`.
struct EpochAnswerMessage {
  TeamId team{0};
  EpochId epoch{0};
  bool committed = false;
  CallSeq first_call{0};
  uint32_t label = 0;  // issued by the sender for its edge with the asker in this epoch; 0: no edge
};

// --- Measurements between two daemons (pair_meters.h); `query` is the planner's number for one ---
struct MeterPing {
  uint64_t query = 0;
  uint32_t number = 0;
};
struct MeterPong {
  uint64_t query = 0;
  uint32_t number = 0;     // number of the ping
  int64_t send_ns = 0;     // median cost of sending a pong, at the sender of this message
  int64_t receive_ns = 0;  // median cost of receiving a ping there
};
// A MeterBulk has this length in its frame, after the frame's header; a filler pads the message to it. `bytes` is this
// length, and is not sent.
inline constexpr uint32_t kMeterBulkBytes = 16'000;
struct MeterBulk {
  uint64_t query = 0;
  uint32_t bytes = kMeterBulkBytes;
  uint32_t ack_every = 0;  // bytes between two MeterAcks
  bool last = false;       // the last one, which is acknowledged at once
};
struct MeterAck {
  uint64_t query = 0;
  uint64_t bytes = 0;  // number of bytes received so far
  int64_t at_ns = 0;   // time of the last byte since the receiver's measurement began, by its clock
};
struct MeterEnd {
  uint64_t query = 0;
};
using MeterMessage = std::variant<MeterPing, MeterPong, MeterBulk, MeterAck, MeterEnd>;

// The sender does not use the connection any more, and asks to close it (connections.h). The reply repeats the number.
struct CloseRequestMessage {
  uint64_t number = 0;
};
struct CloseReplyMessage {
  uint64_t number = 0;
  bool agreed = false;
};

inline constexpr uint32_t kCallsPerMessageMax = 64;
// CallsMessage reports the newest calls of the sender's ranks in a team and its derived teams (call_history.h):
// hashes[i] is the hash of the arguments of call `first` + i. It is sent to all neighbors when a call has waited for
// long.
struct CallsMessage {
  TeamId team{0};
  uint64_t first = 0;
  std::vector<uint16_t> hashes;
};
// CallsDifferMessage answers a CallsMessage if calls are different at its sender: there, `number`, the first such call,
// has these arguments. The receiver breaks the team if its own call differs from them.
struct CallsDifferMessage {
  TeamId team{0};
  uint64_t number = 0;
  Rank rank{0};
  std::string node;
  CallArguments arguments;
};

using PeerMessage = std::variant<HeartbeatMessage, BreakMessage, ArgumentsMessage, LeftMessage, EpochAskMessage,
                                 EpochAnswerMessage, MeterPing, MeterPong, MeterBulk, MeterAck, MeterEnd,
                                 CloseRequestMessage, CloseReplyMessage, CallsMessage, CallsDifferMessage>;
// Returns the team that the message is about; 0: none.
TeamId TeamOf(const PeerMessage& message);
// Returns the message if it belongs to a measurement; else nothing.
std::optional<MeterMessage> AsMeterMessage(const PeerMessage& message);

// EncodedPeerMessage is the type and the body of a control frame.
struct EncodedPeerMessage {
  uint16_t type = 0;
  std::string body;
};
EncodedPeerMessage EncodePeerMessage(const PeerMessage& message);
// Accepts any bytes. Returns INVALID_ARGUMENT if type or body is not valid.
absl::StatusOr<PeerMessage> DecodePeerMessage(uint16_t type, std::string_view body);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_PEER_MESSAGES_H_
