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
#include "daemon/core/calls/rank_arguments.h"
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
  kSubTeamJoin = 16,
  kSubTeamPrepare = 17,
  kSubTeamReply = 18,
  kSubTeamDecision = 19,
  kSubTeamLabel = 20,
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
  RankArguments given;
  std::string node;
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
  RankArguments given;
  std::string node;
};

// --- The formation of a sub-team by daemons (daemon/core/sub_teams); `team` is its parent, whose tree they follow ---
inline constexpr uint32_t kRanksPerJoinMax = 256;
inline constexpr uint32_t kRankRunsMax = 4096;
// Bounds of one address, and of all addresses of a message with up to kAddressedRunsMax runs.
inline constexpr uint32_t kPeerAddressBytesMax = 4096;
inline constexpr uint32_t kPeerAddressesBytesMax = 48 * 1024;
inline constexpr uint32_t kAddressedRunsMax = 1024;
// Ranks of node `node` of the parent join, or (`why`) do not. A daemon passes it on towards the tree's root.
struct SubTeamJoinMessage {
  TeamId team{0};
  schedule::TeamIdentity identity;  // of the common class
  uint32_t size = 0;
  NodeIndex node{0};
  std::vector<Rank> ranks;      // in the sub-team
  schedule::FailureReport why;  // kNone: they join
  // The node has prepared the team with the promised id, as a duplicate of this epoch of the parent. 0: it has not.
  TeamId prepared{0};
  EpochId parent_epoch{0};
  std::string address;  // of the node's data plane, for neighbors in a new shape; empty: the ranks are the parent's
};
// A RankRun places `count` consecutive ranks on a node of the parent.
struct RankRun {
  NodeIndex node{0};
  uint32_t count = 0;
};
// The root has all joins, and asks the members to prepare the team `id`; the answer is a SubTeamReplyMessage.
struct SubTeamPrepareMessage {
  TeamId team{0};
  schedule::TeamIdentity identity;
  TeamId id{0};
  EpochId parent_epoch{0};    // the team has the ranks of its parent, and the plans of this epoch; 0: it has not
  std::vector<RankRun> runs;  // else: the nodes of all ranks, in order of ranks
  // With `runs`: the addresses of the nodes, in the order of their first ranks. All members make the plans themselves
  // (schedule::MakePositionalPlans), and drop what they have prepared for an earlier id. Empty: they know plans.
  std::vector<std::string> addresses;
};
// All members beyond the sender, and it, have prepared the team `id`, or (`why`) one of them has not.
struct SubTeamReplyMessage {
  TeamId team{0};
  TeamId id{0};
  schedule::FailureReport why;  // kNone: all have prepared it
  bool again = false;           // with `why`: the planner shall form the team
  uint64_t plans = 0;           // hash of the members' plans, which must be equal; 0: there is no member
};
// The root has decided: the team `id` is formed, or (`why`) not.
struct SubTeamDecisionMessage {
  TeamId team{0};
  schedule::TeamIdentity identity;
  TeamId id{0};                 // 0: it was not prepared
  schedule::FailureReport why;  // kNone: it is formed
  bool again = false;           // with `why`: the planner shall form the team
  TeamId next{0};               // the root promises this id to the next duplicate; 0: none
};
// The label that the sender has issued for its edge with the receiver in the first epoch of the team `id`.
struct SubTeamLabelMessage {
  TeamId team{0};
  TeamId id{0};
  uint32_t label = 0;
};

using PeerMessage =
    std::variant<HeartbeatMessage, BreakMessage, ArgumentsMessage, LeftMessage, EpochAskMessage, EpochAnswerMessage,
                 MeterPing, MeterPong, MeterBulk, MeterAck, MeterEnd, CloseRequestMessage, CloseReplyMessage,
                 CallsMessage, CallsDifferMessage, SubTeamJoinMessage, SubTeamPrepareMessage, SubTeamReplyMessage,
                 SubTeamDecisionMessage, SubTeamLabelMessage>;
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
