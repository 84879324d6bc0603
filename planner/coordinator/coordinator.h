// SPDX-License-Identifier: Apache-2.0
//
// Defines the coordinator, the planner's state machine. It knows the nodes that registered, forms teams, switches their
// epochs, breaks them when members are lost, and serves administrators. docs/reference/control.md describes the
// protocol.
#ifndef COPSE_PLANNER_COORDINATOR_COORDINATOR_H_
#define COPSE_PLANNER_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "planner/coordinator/plan_maker.h"
#include "planner/coordinator/store.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A SessionId identifies a daemon's connection. The caller chooses the numbers, which are not 0, and never reuses one.
using SessionId = uint64_t;

// A SessionSink sends to the daemons. The coordinator calls it from its member functions; implementations must not call
// the coordinator.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  // Sends a message. Messages are delivered in order, or the session ends with OnDisconnected.
  virtual void Send(SessionId session, const schedule::ToDaemon& message) = 0;
  // Ends a session after the messages that were sent before. The coordinator ignores a later OnDisconnected.
  virtual void Close(SessionId session, const std::string& why) = 0;
};

struct CoordinatorOptions {
  absl::Duration team_formation_timeout = absl::Seconds(30);  // from the first join to the last
  absl::Duration prepare_timeout = absl::Seconds(10);         // from Prepare to the last PrepareReply
  absl::Duration register_timeout = absl::Seconds(10);        // from connection to Register
  absl::Duration forget_records = absl::Hours(1);             // drops a team's record if all members are away this long
  absl::Duration forget_nodes = absl::Hours(24 * 30);         // drops a node in no team if it is away this long
  uint32_t window = 8;                                        // calls of a team in flight on an edge
  uint32_t team_size_max = 65536;
  uint32_t formations_max = 65536;       // teams whose joins are being gathered
  std::vector<std::string> join_tokens;  // a daemon must present one of these; empty: none required
};

// --- State for administrators ---
struct NodeInfo {
  schedule::NodeAnnouncement announcement;
  // "ready"; "draining": the node takes no new teams; "away": it has no stream, but its teams may continue; "lost": it
  // has no stream, and other nodes report that its daemon is gone or cut off.
  std::string state;
  bool connected = false;
  uint32_t ranks = 0;      // its ranks in teams without a parent
  double last_seen_s = 0;  // seconds since its stream ended; 0 while connected
};
struct TeamInfo {
  schedule::TeamLayout layout;  // while joins are gathered, only identity and parent are set
  uint32_t size = 0;
  EpochId epoch{0};
  std::vector<Rank> missing;  // ranks that have not joined, while joins are gathered
  std::string state;          // "forming", "ready", "broken"
  std::string why;            // the reason, if broken
};
struct PlanInfo {
  schedule::TeamLayout layout;
  EpochId epoch{0};
  schedule::Plan plan;
};
struct StatusAnswer {
  std::vector<schedule::DaemonStatus> nodes;  // by name
  std::vector<std::string> silent;            // nodes that have no stream, or did not reply in time; by name
};
// A TraceAnswer is a chunk of a daemon's trace, with the planner's time of the query and of the reply.
struct TraceAnswer {
  schedule::TraceReply reply;
  absl::Time asked;
  absl::Time heard;
};
// MeasureLimits bounds the cost of measuring one pair of nodes.
struct MeasureLimits {
  uint32_t pings = 100;
  absl::Duration ping_max = absl::Milliseconds(300);
  uint64_t bulk_bytes_max = 32u << 20;  // 0: latency only
  absl::Duration bulk_max = absl::Seconds(1);
  absl::Duration timeout = absl::Seconds(5);  // for the whole measurement
};
// CollectiveInfo describes a call in flight, merged from the nodes' status.
struct CollectiveInfo {
  TeamId team{0};
  CallSeq sequence{0};
  CallArguments arguments;
  double age_s = 0;  // seconds in flight, at the node where it began first
  std::vector<Rank> joined;
  std::vector<Rank> missing;
  Family waits_for = Family::kCommon;  // as in schedule::CallStatus
};

// A Coordinator serves all sessions of one planner. It is single-threaded and deterministic: time comes from `*clock`,
// and the messages that it sends depend only on the calls to it. OnConnected is the first call about a session.
//
// Invariant: a team's epoch is recorded in the store before any Commit of it is sent (sub-teams are not recorded); a
// recorded epoch is never aborted while the team exists; an aborted epoch is never recorded, and its number is never
// used again; a daemon receives Commit only if all daemons of the team accepted.
class Coordinator {
 public:
  // The objects behind the pointers must outlive this one. Start is the first call.
  Coordinator(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink, CoordinatorOptions options);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Loads the store; the nodes of its teams are away until they register again. Errors: those of Store::Load.
  absl::Status Start();
  // Replaces time-outs and join tokens for operations that begin from now on; the other options stay.
  void SetLive(const CoordinatorOptions& options);

  // --- Sessions ---
  // Begins a session. `from` is the peer's address, for display; it may be empty.
  void OnConnected(SessionId session, const std::string& from = "");
  void OnMessage(SessionId session, const schedule::FromDaemon& message);
  void OnDisconnected(SessionId session);

  // Runs the work that is due at `heard`, a time before which all arrived messages have been passed to OnMessage. The
  // caller calls Tick when NextDeadline() is reached, which is InfiniteFuture if nothing is pending. If the call comes
  // much later, the process was stopped, and messages that arrived meanwhile may be unread: the work that is due waits
  // for another second.
  void Tick(absl::Time heard);
  absl::Time NextDeadline() const;

  // --- Administration. Errors: NOT_FOUND, FAILED_PRECONDITION, INVALID_ARGUMENT; one line each ---
  std::vector<NodeInfo> Nodes() const;  // by name
  absl::StatusOr<NodeInfo> Node(const std::string& name) const;
  std::vector<TeamInfo> Teams() const;  // by id
  absl::StatusOr<TeamInfo> Team(TeamId team) const;
  std::vector<PlanInfo> Plans() const;  // by id
  absl::StatusOr<PlanInfo> Plan(PlanId plan) const;
  absl::StatusOr<PlanExplanation> Explain(PlanId plan) const;
  absl::StatusOr<std::vector<std::string>> CriticalPath(PlanId plan) const;

  absl::Status SetDraining(const std::string& node, bool draining);
  // Removes a node that an administrator declares gone for good: its teams break. Errors: NOT_FOUND;
  // FAILED_PRECONDITION if the node is connected; those of the store.
  absl::Status RemoveNode(const std::string& node);
  absl::Status BreakTeam(TeamId team, const std::string& why);
  // Switches the team, or its derived team for options.collective, to newly made plans. `done` is called once, maybe
  // before this returns: with OK when every node runs the new epoch, ABORTED when the old one continues, DATA_LOSS if
  // the team broke meanwhile, NOT_FOUND, FAILED_PRECONDITION, or an error of the PlanMaker or the store. While an
  // obstacle may pass (a node is away, another switch is in progress), the switch is retried for `patience`.
  void ReplanTeam(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                  absl::Duration patience = absl::ZeroDuration());
  // Queries `nodes` (empty: all that are connected) for their status, with their latencies if `latencies`. `done` is
  // called once, at the last reply or after `timeout`, maybe before this returns.
  void QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
                   std::function<void(const StatusAnswer&)> done, bool latencies = false);
  // Queries a node for a chunk of its trace; query.query is set here. `done` is called once, maybe before this returns:
  // with the chunk, or NOT_FOUND, UNAVAILABLE if the node has no stream or loses it, or DEADLINE_EXCEEDED.
  void QueryTrace(const std::string& node, schedule::TraceQuery query, absl::Duration timeout,
                  std::function<void(const absl::StatusOr<TraceAnswer>&)> done);
  // Makes the daemons of two nodes measure the path between them; `from` sends the bulk data. `done` is called once,
  // maybe before this returns: with the measurement, or INVALID_ARGUMENT if both nodes are one, NOT_FOUND, UNAVAILABLE
  // if a node has no stream or cannot reach the other, or DEADLINE_EXCEEDED.
  void Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
               std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done);
  // Returns the calls in flight, sorted by (team, awaited class, sequence). A rank is missing if no node reports that
  // it has joined, and a node reports that it has not, or its node has not replied.
  std::vector<CollectiveInfo> MergeCalls(const StatusAnswer& answer) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_COORDINATOR_H_
