// SPDX-License-Identifier: Apache-2.0
//
// The messages between planner and daemons, as plain structs: the coordinator (planner/coordinator) and the daemon's
// core use them; rpc/ converts them to protobuf, and the simulator passes them unchanged.
//
// Life of a team: every rank's daemon sends JoinTeam; when all `size` ranks have joined, the coordinator sends Prepare
// (plans) to each daemon; each reserves and answers PrepareReply with the labels of its incoming edges, or refuses with
// a reason; if all accepted: Commit (outgoing labels, peers' addresses), else Abort, to all. An epoch switch is the
// same protocol for a running team, with a switch-over call number in Commit, recorded durably before it is sent.
//
// Life of a derived team for a collective class (its plans for collectives beyond the common ones): a daemon at which a
// rank calls one of them sends one JoinTeam with the team as parent, and the coordinator prepares at once at all of the
// team's nodes, since ranks may come late. An attempt that fails is failed everywhere: identity.nonce counts the
// earlier ones.
#ifndef COPSE_PROTOCOL_CONTROL_H_
#define COPSE_PROTOCOL_CONTROL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/failure.h"
#include "base/ids.h"
#include "schedule/plan.h"

namespace copse::schedule {

// The identity of a team. The daemon fills in `uid` from the kernel; clients never assert it.
struct TeamIdentity {
  uint32_t uid = 0;
  std::string job;     // from the client's environment, checked printable, at most 64 bytes
  uint64_t nonce = 0;  // agreed by the members out of band, or 0; for a class's team: number of failed attempts
  std::string name;    // at most 128 bytes; a class's derived team has its parent's
  Family family = Family::kCommon;  // others are derived teams, whose parent is the team that calls run on
  friend auto operator<=>(const TeamIdentity&, const TeamIdentity&) = default;
};
inline bool IsDerivedTeam(const TeamIdentity& identity) { return identity.family != Family::kCommon; }
std::string DescribeTeam(const TeamIdentity& identity);  // 'name' of job J of user U; 'name' (rooted) of user U
// Returns "ranks 0,2-4 on node n1": a node as a member of a team; `ranks` ascending.
std::string DescribeMember(const std::vector<Rank>& ranks, const std::string& node);

using copse::Failure;
using copse::FailureCause;
// The reason why a call, a team or a formation failed. It is passed on unchanged between planner and daemons, between
// neighbors, and to clients.
struct FailureReport {
  Failure failure = Failure::kNone;
  std::string text;  // one line, names the member, the value, the limit; at most 240 bytes reach a client
  FailureCause cause = FailureCause::kUnknown;  // kUnknown: the usual one of `failure`
  std::string node;                             // the failure's node; empty: no single node
  std::optional<Rank> rank;                     // the rank that caused it
  uint64_t limit = 0;                           // FailureFacts::limit
  friend bool operator==(const FailureReport&, const FailureReport&) = default;
};
FailureCause CauseOf(const FailureReport& why);
FailureFacts FactsOf(const FailureReport& why);
FailureReport ReportOf(const absl::Status& status, std::string_view what = "");  // "what: message" if `what` is given

struct FormatVersions {
  uint32_t ring = 0, packet = 0, proto = 0, plan = 0;
  friend bool operator==(const FormatVersions&, const FormatVersions&) = default;
};

// Abilities of a side beyond the first version of the protocol. The other side uses only these; the numbers are part
// of the wire format.
enum class Feature : uint32_t {
  kSilence = 1,       // planner: weighs NeighbourSilent
  kDerivedTeams = 2,  // both: JoinTeam and Prepare of classes other than kCommon
  kStopping = 3,      // planner: Stopping
};
using Features = std::set<Feature>;

// A node as its daemon announces it.
struct NodeAnnouncement {
  std::string name;
  Incarnation incarnation{0};
  std::string worker_address;  // of the data plane, opaque
  std::string version;         // version of the package
  FormatVersions formats;
  uint32_t cores = 1;
  uint64_t memory_limit_bytes = 0;
  std::string admin_address;  // host:port of its admin service
  std::string join_token;     // empty if none is configured
  Features features;
  // The host and its boot, opaque: of two daemons with one name and one machine, the newer has replaced the other.
  // Empty: not known.
  std::string machine;
};

// --- A team's content, as pushed ---
struct TeamNode {
  std::string name;
  Incarnation incarnation{0};
  std::string worker_address;
  friend bool operator==(const TeamNode&, const TeamNode&) = default;
};
struct TeamLayout {
  TeamId id{0};
  TeamIdentity identity;
  TeamId parent{0};             // 0: none; for a class's derived team: its team
  TeamShape shape;              // rank -> node index
  std::vector<TeamNode> nodes;  // by node index
  uint32_t window = 8;          // W: calls per edge; power of two
};
// Whether the layout is that of a team which its members derived from another; a class's derived team is not one.
inline bool IsSubTeam(const TeamLayout& layout) {
  return layout.parent != TeamId{0} && !IsDerivedTeam(layout.identity);
}

// --- Daemon to planner ---
struct RunningTeam {  // a team that a reconnecting daemon still has
  TeamLayout layout;
  EpochId epoch{0};
  std::vector<std::string> plans;  // encoded
  bool broken = false;
  FailureReport why;  // if broken
  // A next epoch that was prepared and is undecided; 0: none.
  EpochId prepared_epoch{0};
};
struct Register {
  NodeAnnouncement node;
  std::vector<RunningTeam> teams;
  uint64_t term = 0;  // the highest that this daemon has received from a planner
};
struct JoinTeam {        // for a class's derived team: one per daemon, for all its ranks
  uint64_t request = 0;  // daemon's own number, echoed in Abort for this join
  TeamIdentity identity;
  TeamId parent{0};
  Rank rank{0};
  uint32_t size = 0;
  FailureReport last_failure;  // of a class's preceding attempt, if there was one
};
struct CancelJoin {  // the client went away or timed out before its team was formed
  uint64_t request = 0;
  FailureReport why;
};
struct EdgeLabel {
  NodeIndex neighbour{0};  // the sender's peer on the edge
  uint32_t label = 0;      // issued by the sender of this message
};
struct PrepareReply {
  TeamId team{0};
  EpochId epoch{0};
  bool accepted = false;
  FailureReport why;                // if refused
  std::vector<EdgeLabel> incoming;  // if accepted
  CallSeq started{0};               // S: number of calls started here (epoch switch)
};
struct CommitReply {
  TeamId team{0};
  EpochId epoch{0};
};
struct LeaveTeam {  // all ranks on this node have destroyed the team
  TeamId team{0};
};
struct TeamBroken {
  TeamId team{0};
  FailureReport why;
};
// A daemon receives nothing from a neighbor any more, and asks which node is lost: the planner also receives the
// others' reports, and breaks teams. `silent` false: frames of the neighbor arrive again, or it is no neighbor any
// more.
struct NeighbourSilent {
  Incarnation neighbour{0};
  bool silent = true;
  uint32_t living = 0;         // other neighbors whose frames arrive
  std::vector<TeamId> teams;   // with an edge to it
  uint64_t silent_ms = 0;      // time since its last frame
  uint64_t others_due_ms = 0;  // time until other daemons that receive nothing from it must have reported it, too
};
// The daemon takes no new teams any more, since it is about to end; `done`: it has left its teams, and ends now.
struct Stopping {
  bool done = false;
};
struct EpochQuery {  // a daemon holds a prepared epoch and has received no decision for a while
  TeamId team{0};
  EpochId epoch{0};
};

// One call in flight at one node, for `coll list`.
struct CallStatus {
  TeamId team{0};
  CallSeq sequence{0};
  CallArguments arguments;
  double age_s = 0;
  std::vector<Rank> joined;
  std::vector<Rank> missing;
  // Not kCommon: the call waits until the derived team for this class is formed, and `sequence` is its place among
  // the waiting calls.
  Family waits_for = Family::kCommon;
};
// A rank's progress: it has taken part in all calls below `calls`. A rank that is in no node's CallStatus and has
// `calls` at or below its sequence is missing there.
struct RankProgress {
  TeamId team{0};
  Rank rank{0};
  CallSeq calls{0};
};
// The parts into which the time of a call is split at one node, for one collective and size class.
enum class CallPart : uint8_t {
  kCall = 0,     // for each rank: from its post to its completion
  kRanks = 1,    // from the node's first rank to its last
  kNetwork = 2,  // from the node's last rank to the end of the call there
};
inline constexpr int kCallPartCount = 3;
std::string_view CallPartName(CallPart part);  // call, ranks, network
struct LatencyStatus {
  Collective collective = Collective::kBarrier;
  uint64_t bytes_min = 0, bytes_max = 0;  // the size class: a call's message, both ends included
  CallPart part = CallPart::kCall;
  // Same layout as in base/histogram.h, in nanoseconds; only buckets that are not empty, ascending.
  uint64_t sum_ns = 0, min_ns = 0, max_ns = 0;
  std::vector<std::pair<uint32_t, uint64_t>> buckets;
  friend bool operator==(const LatencyStatus&, const LatencyStatus&) = default;
};
struct DaemonStatus {
  std::string node;
  Incarnation incarnation{0};
  std::string state;  // "ready", "draining"
  uint32_t clients = 0;
  uint32_t ranks = 0;
  uint32_t teams = 0;
  std::vector<CallStatus> calls;
  std::vector<RankProgress> progress;  // for all ranks on this node
  std::map<std::string, uint64_t> counters;
  std::vector<LatencyStatus> latencies;  // if requested
};
struct StatusReply {
  uint64_t query = 0;
  DaemonStatus status;
};

// A part of a daemon's trace, the answer to TraceQuery.
struct TraceReply {
  uint64_t query = 0;
  // An opaque name: daemons with the same one read the same clock (one kernel), so their times need no correction.
  std::string clock;
  int64_t now_ns = 0;   // that clock, when the part was taken; records' times are its readings
  int64_t wall_ns = 0;  // the wall clock at the same moment, since 1970
  uint64_t first = 0;   // number of the first record here; higher than requested: earlier ones are overwritten
  uint64_t next = 0;    // number of the next record to be made
  bool off = false;     // the daemon keeps no trace
  std::string records;  // kTraceRecordBytes each, in the layout of docs/reference/instruments.md
  friend bool operator==(const TraceReply&, const TraceReply&) = default;
};
inline constexpr uint32_t kTraceRecordBytes = 32;
inline constexpr uint32_t kTracePieceRecordsMax = 8192;  // in one TraceReply

// The measurements of the active daemon of a pair, the answer to MeasureQuery. If `why` is set, the measurements up
// to the failure.
struct MeasureReply {
  uint64_t query = 0;
  FailureReport why;
  uint32_t pings = 0;         // number that count
  int64_t round_trip_ns = 0;  // the minimum
  int64_t round_trip_median_ns = 0;
  // Time that this daemon and its peer take to send a small message, and to receive one: medians.
  int64_t send_ns = 0, receive_ns = 0;
  int64_t peer_send_ns = 0, peer_receive_ns = 0;
  // Bytes that arrived at the peer in that time, once they came at a steady rate. 0: not measured.
  uint64_t bulk_bytes = 0;
  int64_t bulk_ns = 0;
  bool bulk_steady = false;  // false: bytes or time ran out before the rate stopped growing
  friend bool operator==(const MeasureReply&, const MeasureReply&) = default;
};

using FromDaemon = std::variant<Register, JoinTeam, CancelJoin, PrepareReply, CommitReply, LeaveTeam, TeamBroken,
                                EpochQuery, StatusReply, TraceReply, MeasureReply, NeighbourSilent, Stopping>;

// --- Planner to daemon ---
struct Registered {
  bool accepted = false;
  FailureReport why;
  std::vector<TeamId> forgotten;  // teams of the Register message that are known to be over
  Features features;
  bool draining = false;  // an administrator drains the node
  uint64_t term = 0;      // the planner's: grows with each of its starts, so that ids are never reused
};
struct Prepare {
  TeamLayout layout;
  EpochId epoch{0};
  std::vector<std::string> plans;  // EncodePlan
  uint64_t hash = 0;               // PlanHash over the concatenation
  // The requests of this daemon that the team answers, by rank (first epoch only).
  std::vector<std::pair<uint64_t, Rank>> requests;
  FailureReport last_failure;  // of a class's preceding attempt, if there was one
};
struct Commit {
  TeamId team{0};
  EpochId epoch{0};
  CallSeq first_call{0};            // the first call of this epoch
  std::vector<EdgeLabel> outgoing;  // labels that the neighbors issued for this daemon
};
struct Abort {
  TeamId team{0};
  EpochId epoch{0};  // epoch 1: the team is not formed
  FailureReport why;
  std::vector<uint64_t> requests;  // joins that fail with it
  // The cause is temporary: `requests` do not fail, but start again.
  bool again = false;
};
struct BreakTeam {  // e.g. one of its nodes is lost
  TeamId team{0};
  FailureReport why;
};
struct EndTeam {  // every node has left: drop it
  TeamId team{0};
};
struct StatusQuery {
  uint64_t query = 0;
  bool latencies = false;  // include them
};
struct TraceQuery {
  uint64_t query = 0;
  uint64_t from = 0;     // number of the first requested record
  uint32_t records = 0;  // at most; the daemon returns fewer in one part
  int64_t last_ns = -1;  // >= 0: only records of the last `last_ns` nanoseconds
};
// Asks for a measurement to another node; both daemons are notified, with the same number. The active one begins and
// answers. They are connected for that time, whether or not they are neighbors.
struct MeasureQuery {
  uint64_t query = 0;
  TeamNode peer;
  bool active = false;
  uint32_t pings = 0;           // number to make
  int64_t ping_ns_max = 0;      // time limit for them, unless fewer than three were answered
  uint64_t bulk_bytes_max = 0;  // bytes to send; 0: the rate is not measured
  int64_t bulk_ns_max = 0;
  int64_t timeout_ns = 0;  // for the whole measurement
  friend bool operator==(const MeasureQuery&, const MeasureQuery&) = default;
};
inline constexpr uint32_t kMeasurePingsMax = 1'000;
inline constexpr uint64_t kMeasureBytesMax = uint64_t{1} << 30;
inline constexpr int64_t kMeasureNsMax = 60'000'000'000;
struct Drain {  // accept no new teams
  bool on = true;
};

using ToDaemon =
    std::variant<Registered, Prepare, Commit, Abort, BreakTeam, EndTeam, StatusQuery, Drain, TraceQuery, MeasureQuery>;

}  // namespace copse::schedule

#endif  // COPSE_PROTOCOL_CONTROL_H_
