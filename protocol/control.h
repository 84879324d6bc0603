// SPDX-License-Identifier: Apache-2.0
//
// Defines the messages between planner and daemons as plain structs. The coordinator (planner/coordinator) and the
// daemon's core use them; rpc/ converts them to protobuf, and the simulator passes them unchanged.
//
// Life of a team: daemons send JoinTeam for their ranks. When all `size` ranks have joined, the coordinator sends
// Prepare (layout with peers' addresses, and plans) to each daemon. Each reserves memory and answers PrepareReply with
// the labels of its incoming edges, or refuses with a reason. If all have accepted, the coordinator sends Commit
// (outgoing labels) to all, else Abort. An epoch switch is this protocol for a running team: Commit then has the number
// of the first call of the new epoch, which is recorded durably before Commit is sent.
//
// Life of a derived team for a collective class, which has the plans for collectives beyond the common ones: a daemon
// at which a rank calls one of them sends one JoinTeam with the team as parent, and the coordinator sends Prepare to
// all of the team's nodes at once, since ranks may come late. If an attempt fails, it fails at all nodes;
// identity.nonce is the number of failed attempts.
//
// Life of a sub-team: its daemons form it among themselves if they can (docs/reference/control.md), and then report it
// (TeamFormed). Else its ranks' daemons send JoinTeam with the parent, as for any team.
#ifndef COPSE_PROTOCOL_CONTROL_H_
#define COPSE_PROTOCOL_CONTROL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/failure.h"
#include "base/ids.h"
#include "base/shared.h"
#include "protocol/features.h"
#include "schedule/plan.h"

namespace copse::schedule {

// A TeamIdentity identifies a team; all members join with equal ones. `uid` comes from the kernel, not from clients.
struct TeamIdentity {
  uint32_t uid = 0;
  std::string job;     // job from the client's environment: printable, at most 64 bytes
  uint64_t nonce = 0;  // number on which the members agreed out of band, or 0; a class's team: failed attempts before
  std::string name;    // at most 128 bytes; a class's derived team has the name of its parent
  Family family = Family::kCommon;  // another class: a derived team, whose parent is the team of the calls
  friend auto operator<=>(const TeamIdentity&, const TeamIdentity&) = default;
};
// Returns whether the team is a derived team for a collective class.
inline bool IsDerivedTeam(const TeamIdentity& identity) { return identity.family != Family::kCommon; }
// Returns "'name' of job J of user U", "'name' (rooted) of user U".
std::string DescribeTeam(const TeamIdentity& identity);
// A RankRange has the ranks from `first` to `last`, both included.
struct RankRange {
  Rank first, last;
};
// More ranges than these are not shown by RankRangeList.
inline constexpr size_t kRankRangesShown = 32;
// Format ascending ranks as "2,5-6". After about 60 characters, "..." stands for the others.
std::string RankRangeList(const std::vector<RankRange>& ranges);
std::string RankList(const std::vector<Rank>& ranks);
// Returns "ranks 0,2-4 on node n1", "rank 0 on node n1". `ranks` must ascend.
std::string DescribeMember(const std::vector<Rank>& ranks, const std::string& node);

using copse::Failure;
using copse::FailureCause;
// A FailureReport is the reason why a call, a team or its formation failed. It is passed on unchanged between planner
// and daemons, between neighbors, and to clients.
struct FailureReport {
  Failure failure = Failure::kNone;
  std::string text;  // one line that names the member, the value, the limit; clients receive at most 255 bytes
  FailureCause cause = FailureCause::kUnknown;  // kUnknown: the usual cause of `failure`
  std::string node;                             // the failure's node; empty: no single node
  std::optional<Rank> rank;                     // the rank that caused it
  uint64_t limit = 0;                           // FailureFacts::limit
  friend bool operator==(const FailureReport&, const FailureReport&) = default;
};
// Returns why.cause, or the usual cause of why.failure if it is kUnknown.
FailureCause CauseOf(const FailureReport& why);
// Returns the facts for a client. A node name that does not fit is cut.
FailureFacts FactsOf(const FailureReport& why);
// Returns the report of an error that has no cause but its code. Its text is "what: message", or the message if `what`
// is empty.
FailureReport ReportOf(const absl::Status& status, std::string_view what = "");

struct FormatVersions {
  uint32_t ring = 0, packet = 0, proto = 0, plan = 0;
  friend bool operator==(const FormatVersions&, const FormatVersions&) = default;
};

// A NodeAnnouncement describes a node to the planner.
struct NodeAnnouncement {
  std::string name;
  Incarnation incarnation{0};
  std::string worker_address;  // address of the data plane, opaque; empty: not open yet (Feature kLateAddress)
  std::string version;         // version of the package
  FormatVersions formats;
  uint32_t cores = 1;
  uint64_t memory_limit_bytes = 0;
  std::string admin_address;  // host:port of the daemon's admin service
  std::string join_token;     // empty if none is configured
  Features features;
  // It identifies the host and its boot, and is opaque. If two daemons have the same name and machine, the newer one
  // has replaced the other. Empty: not known.
  std::string machine;
  friend bool operator==(const NodeAnnouncement&, const NodeAnnouncement&) = default;
};

// --- The layout of a team ---
struct TeamNode {
  std::string name;
  Incarnation incarnation{0};
  std::string worker_address;  // empty: not known here; a daemon knows those of its neighbors
  friend bool operator==(const TeamNode&, const TeamNode&) = default;
};
struct TeamLayout {
  TeamId id{0};
  TeamIdentity identity;
  TeamId parent{0};             // the team from which this one is derived, by its members or for a class; 0: none
  TeamShape shape;              // rank -> node index
  std::vector<TeamNode> nodes;  // by node index
  uint32_t window = 8;          // W: calls per edge; power of two
  friend bool operator==(const TeamLayout&, const TeamLayout&) = default;
};
// Returns whether both have the same nodes, whatever addresses are known of them.
bool HaveSameNodes(const TeamLayout& a, const TeamLayout& b);
// Returns whether the layouts are equal, apart from addresses.
bool IsSameTeam(const TeamLayout& a, const TeamLayout& b);
// Returns whether the team's members derived it from another team; false for a class's derived team.
inline bool IsSubTeam(const TeamLayout& layout) {
  return layout.parent != TeamId{0} && !IsDerivedTeam(layout.identity);
}

// --- Daemon to planner ---
// A CallStatus describes a call in flight at one node, for `coll list`.
struct CallStatus {
  TeamId team{0};
  CallSeq sequence{0};
  CallArguments arguments;
  double age_s = 0;
  std::vector<Rank> joined;
  std::vector<Rank> missing;
  // If it is not kCommon, the call waits until the derived team for this class is formed, and `sequence` is its place
  // among the waiting calls.
  Family waits_for = Family::kCommon;
  friend bool operator==(const CallStatus&, const CallStatus&) = default;
};
// A RankProgress says that a rank has taken part in all calls below `calls`. A rank is missing in a call if no node's
// CallStatus of this call lists it and its `calls` is at most the call's sequence.
struct RankProgress {
  TeamId team{0};
  Rank rank{0};
  CallSeq calls{0};
  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};
// Calls in flight for so long are reported unasked.
inline constexpr absl::Duration kLongCall = absl::Seconds(5);
inline bool IsLong(const CallStatus& call) { return call.age_s >= absl::ToDoubleSeconds(kLongCall); }
// A StatusReport is what a daemon says of itself unasked, each minute, so that lists of many nodes need not ask all.
// Its bytes are encoded rows for administrators (rpc/status_report.h), which the planner passes on as they are.
struct StatusReport {
  std::string counters, latencies, accounts;
  std::vector<CallStatus> calls;       // in flight for kLongCall or longer
  std::vector<RankProgress> progress;  // for all ranks on this node
  friend bool operator==(const StatusReport&, const StatusReport&) = default;
};

// A RunningTeam is a team that a reconnecting daemon still has.
struct RunningTeam {
  Shared<TeamLayout> layout;
  EpochId epoch{0};
  Shared<std::vector<std::string>> plans;  // EncodePlan
  bool broken = false;
  FailureReport why;  // if broken
  // It is the next epoch, if that was prepared and is undecided. 0: none.
  EpochId prepared_epoch{0};
  // The name of nodes, ranks and plans (rpc/team_content.h), which the receiver has checked. Empty: not named.
  std::string content;
  friend bool operator==(const RunningTeam&, const RunningTeam&) = default;
};
// Register is a daemon's first message on each connection; the answer is Registered.
struct Register {
  NodeAnnouncement node;
  std::vector<RunningTeam> teams;
  uint64_t term = 0;                   // the highest Registered::term that this daemon has received
  std::string cluster;                 // the last UUID of a cluster that it has received; empty: none
  std::optional<StatusReport> report;  // absent: from earlier versions
  friend bool operator==(const Register&, const Register&) = default;
};
// JoinTeam is sent for ranks of one daemon that join a team at about the same time, if the planner has
// Feature::kJoinsByNode, else for each rank; for a class's derived team once per daemon, for all of its ranks.
struct JoinTeam {
  uint64_t request = 0;  // the daemon's number of this join, repeated in Prepare and Abort
  TeamIdentity identity;
  TeamId parent{0};
  Rank rank{0};
  uint32_t size = 0;
  FailureReport last_failure;                   // failure of the class's preceding attempt, if there was one
  std::vector<std::pair<uint64_t, Rank>> more;  // further joins: request, rank
  friend bool operator==(const JoinTeam&, const JoinTeam&) = default;
};
inline constexpr size_t kJoinsPerMessageMax = 256;
// CancelJoin withdraws a join, since the client has gone or timed out before the team was formed.
struct CancelJoin {
  uint64_t request = 0;
  FailureReport why;
  friend bool operator==(const CancelJoin&, const CancelJoin&) = default;
};
// An EdgeLabel is the label of an edge between two daemons. The receiving end of the edge issues it.
struct EdgeLabel {
  NodeIndex neighbor{0};  // the other end of the edge, as seen from the daemon that sends or gets this message
  uint32_t label = 0;
  friend bool operator==(const EdgeLabel&, const EdgeLabel&) = default;
};
struct PrepareReply {
  TeamId team{0};
  EpochId epoch{0};
  bool accepted = false;
  FailureReport why;                // if refused
  std::vector<EdgeLabel> incoming;  // if accepted: labels that this daemon issues
  CallSeq started{0};               // S: number of calls started here (epoch switch)
  friend bool operator==(const PrepareReply&, const PrepareReply&) = default;
};
struct CommitReply {
  TeamId team{0};
  EpochId epoch{0};
  friend bool operator==(const CommitReply&, const CommitReply&) = default;
};
// LeaveTeam reports that all ranks on the node have destroyed the team.
struct LeaveTeam {
  TeamId team{0};
  friend bool operator==(const LeaveTeam&, const LeaveTeam&) = default;
};
struct TeamBroken {
  TeamId team{0};
  FailureReport why;
  friend bool operator==(const TeamBroken&, const TeamBroken&) = default;
};
// NeighborSilent reports that a daemon receives nothing from a neighbor any more. The planner decides from the reports
// of all daemons which node is lost, and breaks its teams. `silent` is false if frames of the neighbor arrive again, or
// it is no neighbor any more.
struct NeighborSilent {
  Incarnation neighbor{0};
  bool silent = true;
  uint32_t living = 0;         // other neighbors whose frames arrive
  std::vector<TeamId> teams;   // teams with an edge to the neighbor
  uint64_t silent_ms = 0;      // time since the neighbor's last frame
  uint64_t others_due_ms = 0;  // time by which other daemons that receive nothing from the neighbor have reported it
  friend bool operator==(const NeighborSilent&, const NeighborSilent&) = default;
};
// Stopping announces that the daemon is about to end and takes no new teams.
struct Stopping {
  bool done = false;  // it has left its teams, and ends now
  friend bool operator==(const Stopping&, const Stopping&) = default;
};
// TeamIdsRequest asks for ids of teams that the daemon will form with its neighbors; the answer is TeamIds.
struct TeamIdsRequest {
  friend bool operator==(const TeamIdsRequest&, const TeamIdsRequest&) = default;
};
// TeamFormed reports that this daemon runs the first epoch of a sub-team that daemons have formed. Each member sends it
// before any other message about the team.
struct TeamFormed {
  TeamLayout layout;               // without nodes and ranks if `parent_epoch` is set, since they are the parent's
  EpochId parent_epoch{0};         // the plans are those of this epoch of the parent
  std::vector<std::string> plans;  // EncodePlan, unless `parent_epoch` is set; only the first node sends them
  friend bool operator==(const TeamFormed&, const TeamFormed&) = default;
};
// TeamsHeld lists the teams of this daemon, each minute, so that the planner finds those of which an end was lost. It
// is sent earlier when other calls are in flight for long than were reported.
struct TeamsHeld {
  std::vector<TeamId> teams;  // also those that are being formed, and broken ones that the planner has not ended
  std::optional<StatusReport> report;  // absent: from earlier versions
  friend bool operator==(const TeamsHeld&, const TeamsHeld&) = default;
};
// EpochQuery asks for the decision on a prepared epoch, which has not come for a while.
struct EpochQuery {
  TeamId team{0};
  EpochId epoch{0};
  friend bool operator==(const EpochQuery&, const EpochQuery&) = default;
};

// A CallPart is a part of a call's time at one node. Histograms of them are kept by collective and size class.
enum class CallPart : uint8_t {
  kCall = 0,     // for each rank: from its post to its completion
  kRanks = 1,    // from the node's first rank to its last
  kNetwork = 2,  // from the node's last rank to the end of the call there
};
inline constexpr int kCallPartCount = 3;
// Returns "call", "ranks" or "network", or "unknown" for another number.
std::string_view CallPartName(CallPart part);
// A LatencyStatus is a histogram of the durations of one part of calls.
struct LatencyStatus {
  Collective collective = Collective::kBarrier;
  uint64_t bytes_min = 0, bytes_max = 0;  // size class: the bytes of a call's message, both ends included
  CallPart part = CallPart::kCall;
  // The fields have the layout of base/histogram.h, in nanoseconds. `buckets` has only those that are not empty,
  // ascending.
  uint64_t sum_ns = 0, min_ns = 0, max_ns = 0;
  std::vector<std::pair<uint32_t, uint64_t>> buckets;
  friend bool operator==(const LatencyStatus&, const LatencyStatus&) = default;
};
// A PlanCalls counts the calls that have begun at a node by a plan of an epoch that runs; a long call counts once.
struct PlanCalls {
  PlanId plan{0};
  uint64_t calls = 0;
  friend bool operator==(const PlanCalls&, const PlanCalls&) = default;
};
// AccountStatus is what one job of a user holds at a node.
struct AccountStatus {
  // Holding has the amount of one resource, and the most that the user may have with all jobs.
  struct Holding {
    std::string resource;  // "teams"
    uint64_t used = 0;
    uint64_t limit = 0;  // UINT64_MAX: none
    friend bool operator==(const Holding&, const Holding&) = default;
  };
  uint32_t uid = 0;
  std::string job;                   // by the control group
  uint32_t weight = 1;               // of the user's share of the daemon's time
  std::vector<std::string> claimed;  // jobs, as its clients say
  std::vector<Holding> holdings;
  friend bool operator==(const AccountStatus&, const AccountStatus&) = default;
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
  std::vector<PlanCalls> plan_calls;     // of the requested team, without plans that no call has used
  std::vector<AccountStatus> accounts;   // by user and job
  friend bool operator==(const DaemonStatus&, const DaemonStatus&) = default;
};
struct StatusReply {
  uint64_t query = 0;
  DaemonStatus status;
  friend bool operator==(const StatusReply&, const StatusReply&) = default;
};

// TraceReply answers TraceQuery with consecutive records of the daemon's trace, or those of them that are the owner's.
struct TraceReply {
  uint64_t query = 0;
  // It is an opaque name of the clock. Daemons with the same name read the same clock (one kernel), so their times need
  // no correction.
  std::string clock;
  int64_t now_ns = 0;   // reading of that clock when the records were copied; their times are readings of it, too
  int64_t wall_ns = 0;  // the wall clock at the same moment, since 1970
  uint64_t first = 0;   // number of the first record here; if higher than requested, earlier ones were overwritten
  uint64_t next = 0;    // number of the next record to be made
  bool off = false;     // the daemon keeps no trace
  std::string records;  // kTraceRecordBytes each, in the layout of docs/reference/instruments.md
  uint64_t end = 0;     // number after the last record that was looked at; 0: of earlier daemons, which send all
  friend bool operator==(const TraceReply&, const TraceReply&) = default;
};
inline constexpr uint32_t kTraceRecordBytes = 32;
inline constexpr uint32_t kTracePieceRecordsMax = 8192;  // limit of records in one TraceReply

// MeasureReply answers MeasureQuery with the measurements of the active daemon of a pair. If `why` is set, they are
// those made before the failure.
struct MeasureReply {
  uint64_t query = 0;
  FailureReport why;
  uint32_t pings = 0;         // number of measured round trips
  int64_t round_trip_ns = 0;  // the shortest round trip
  int64_t round_trip_median_ns = 0;
  // These are medians of the times that this daemon and its peer take to send a small message, and to receive one.
  int64_t send_ns = 0, receive_ns = 0;
  int64_t peer_send_ns = 0, peer_receive_ns = 0;
  // These bytes arrived at the peer within bulk_ns after the bandwidth had become steady. 0: not measured.
  uint64_t bulk_bytes = 0;
  int64_t bulk_ns = 0;
  bool bulk_steady = false;  // false: the limit of bytes or time was reached while the bandwidth still grew
  friend bool operator==(const MeasureReply&, const MeasureReply&) = default;
};

// Pong answers Ping at once.
struct Pong {
  friend bool operator==(const Pong&, const Pong&) = default;
};

// DataAddress answers AddressQuery.
struct DataAddress {
  std::string worker_address;
  FailureReport why;  // if it cannot be opened
  friend bool operator==(const DataAddress&, const DataAddress&) = default;
};

// TeamPlans answers PlansQuery, if the daemon has committed an epoch of the team.
struct TeamPlans {
  TeamId team{0};
  EpochId epoch{0};                        // the last committed one, which has these plans
  Shared<std::vector<std::string>> plans;  // EncodePlan
  friend bool operator==(const TeamPlans&, const TeamPlans&) = default;
};

using FromDaemon = std::variant<Register, JoinTeam, CancelJoin, PrepareReply, CommitReply, LeaveTeam, TeamBroken,
                                EpochQuery, StatusReply, TraceReply, MeasureReply, NeighborSilent, Stopping,
                                TeamIdsRequest, TeamFormed, TeamsHeld, Pong, DataAddress, TeamPlans>;

// --- Planner to daemon ---
// Registered answers Register.
struct Registered {
  bool accepted = false;
  FailureReport why;
  std::vector<TeamId> forgotten;  // teams of the Register message that are known to be over
  Features features;
  bool draining = false;  // an administrator drains the node
  uint64_t term = 0;      // number that grows with each start of the planner, so that ids are never reused
  std::string cluster;    // UUID of the planner's cluster; empty: it has none
  friend bool operator==(const Registered&, const Registered&) = default;
};
// Returns whether two UUIDs are of different clusters; an empty one is of any.
inline bool IsOtherCluster(const std::string& one, const std::string& other) {
  return !one.empty() && !other.empty() && one != other;
}
// Prepare requests the reservation of an epoch's resources; the answer is PrepareReply.
struct Prepare {
  TeamLayout layout;
  EpochId epoch{0};
  std::vector<std::string> plans;  // EncodePlan
  uint64_t hash = 0;               // PlanHash over the concatenation
  // These joins of this daemon form the team, with their ranks (first epoch only).
  std::vector<std::pair<uint64_t, Rank>> requests;
  FailureReport last_failure;  // failure of the class's preceding attempt, if there was one
  bool has_sub_teams = false;  // the daemons of all nodes have Feature::kSubTeams (first epoch only)
  friend bool operator==(const Prepare&, const Prepare&) = default;
};
// Commit makes a prepared epoch valid; the answer is CommitReply.
struct Commit {
  TeamId team{0};
  EpochId epoch{0};
  CallSeq first_call{0};            // the first call of this epoch
  std::vector<EdgeLabel> outgoing;  // labels that the neighbors issued for this daemon
  friend bool operator==(const Commit&, const Commit&) = default;
};
// Abort drops a prepared epoch, or joins without one.
struct Abort {
  TeamId team{0};
  EpochId epoch{0};  // epoch 1: the team is not formed
  FailureReport why;
  std::vector<uint64_t> requests;  // joins that fail with `why`
  // The cause is temporary: the daemon sends the joins of `requests` again instead of failing them.
  bool again = false;
  friend bool operator==(const Abort&, const Abort&) = default;
};
// BreakTeam makes all calls of the team fail, for example since one of its nodes is lost.
struct BreakTeam {
  TeamId team{0};
  FailureReport why;
  friend bool operator==(const BreakTeam&, const BreakTeam&) = default;
};
// EndTeam reports that every node has left the team, so that daemons need not report it any more.
struct EndTeam {
  TeamId team{0};
  friend bool operator==(const EndTeam&, const EndTeam&) = default;
};
struct StatusQuery {
  uint64_t query = 0;
  bool latencies = false;  // the reply shall have DaemonStatus::latencies
  TeamId calls_of{0};      // the reply shall have DaemonStatus::plan_calls of this team; 0: of none
  friend bool operator==(const StatusQuery&, const StatusQuery&) = default;
};
struct TraceQuery {
  uint64_t query = 0;
  uint64_t from = 0;     // number of the first requested record
  uint32_t records = 0;  // limit of the records in the reply, which may have fewer
  int64_t last_ns = -1;  // >= 0: only records of the last `last_ns` nanoseconds
  // Only records of this user's teams and clients that are at the node now (Feature::kOwnTrace).
  std::optional<uint32_t> owner;
  friend bool operator==(const TraceQuery&, const TraceQuery&) = default;
};
// MeasureQuery requests a measurement between two nodes. Both daemons get it, with the same `query`; the active one
// begins and answers. They are connected meanwhile, whether or not they are neighbors.
struct MeasureQuery {
  uint64_t query = 0;
  TeamNode peer;
  bool active = false;
  uint32_t pings = 0;           // number of pings
  int64_t ping_ns_max = 0;      // time limit of the pings; it does not hold before three were answered
  uint64_t bulk_bytes_max = 0;  // limit of the bulk data in bytes; 0: bandwidth is not measured
  int64_t bulk_ns_max = 0;      // time limit of the bulk data
  int64_t timeout_ns = 0;       // time limit of the whole measurement
  friend bool operator==(const MeasureQuery&, const MeasureQuery&) = default;
};
inline constexpr uint32_t kMeasurePingsMax = 1'000;
inline constexpr uint64_t kMeasureBytesMax = uint64_t{1} << 30;
inline constexpr int64_t kMeasureNsMax = 60'000'000'000;
// Drain makes the daemon accept no new teams, or accept them again.
struct Drain {
  bool on = true;
  friend bool operator==(const Drain&, const Drain&) = default;
};

// Cluster replaces Registered::cluster: the planner has learned that its cluster is this one.
struct Cluster {
  std::string uuid;
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

// Ping asks whether the planner reaches the daemon.
struct Ping {
  friend bool operator==(const Ping&, const Ping&) = default;
};

// AddressQuery asks for the address of the data plane, which the daemon opens for this if it is not open: a team has,
// or a measurement needs, an edge to another node.
struct AddressQuery {
  friend bool operator==(const AddressQuery&, const AddressQuery&) = default;
};

// PlansQuery asks for a team's plans, which the planner's store does not have.
struct PlansQuery {
  TeamId team{0};
  friend bool operator==(const PlansQuery&, const PlansQuery&) = default;
};

// TeamIds answers TeamIdsRequest: the ids from `first` on are the daemon's, and of no other team.
struct TeamIds {
  TeamId first{0};
  uint32_t count = 0;
  friend bool operator==(const TeamIds&, const TeamIds&) = default;
};

using ToDaemon = std::variant<Registered, Prepare, Commit, Abort, BreakTeam, EndTeam, StatusQuery, Drain, TraceQuery,
                              MeasureQuery, TeamIds, Cluster, Ping, AddressQuery, PlansQuery>;

}  // namespace copse::schedule

#endif  // COPSE_PROTOCOL_CONTROL_H_
