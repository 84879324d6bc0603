// SPDX-License-Identifier: Apache-2.0
//
// The coordinator: the planner's state machine. It knows the nodes that registered, forms teams, switches their epochs,
// ends them when members are lost, and answers administrators. docs/reference/control.md describes the protocol.
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

// SessionId identifies a daemon's connection. The caller chooses the numbers and never reuses one.
using SessionId = uint64_t;

// SessionSink sends to the daemons. The coordinator calls it from within its own calls; implementations must not call
// back.
class SessionSink {
 public:
  virtual ~SessionSink() = default;
  // Delivers in order, or the session ends with OnDisconnected.
  virtual void Send(SessionId session, const schedule::ToDaemon& message) = 0;
  // Ends a session after the messages sent before. OnDisconnected may follow, and is ignored.
  virtual void Close(SessionId session, const std::string& why) = 0;
};

struct CoordinatorOptions {
  absl::Duration team_formation_timeout = absl::Seconds(30);  // from the first join to the last
  absl::Duration prepare_timeout = absl::Seconds(10);         // from Prepare to the last PrepareReply
  absl::Duration register_timeout = absl::Seconds(10);        // from connection to Register
  absl::Duration forget_records = absl::Hours(1);             // all members away so long: the record is dropped
  absl::Duration forget_nodes = absl::Hours(24 * 30);         // away so long and in no team: dropped
  uint32_t window = 8;                                        // W
  uint32_t team_size_max = 65536;
  uint32_t formations_max = 65536;       // teams whose joins are being gathered
  std::vector<std::string> join_tokens;  // a daemon must present one of these; empty: none required
};

// --- State for administrators ---
struct NodeInfo {
  schedule::NodeAnnouncement announcement;
  // "ready"; "draining": it takes no new teams; "away": it has no stream, which says nothing about its teams; "lost":
  // it has no stream, and there is evidence that its daemon is gone or cut off.
  std::string state;
  bool connected = false;
  uint32_t ranks = 0;      // of teams without a parent
  double last_seen_s = 0;  // since its stream ended; 0 while connected
};
struct TeamInfo {
  schedule::TeamLayout layout;  // while joins are gathered: only its identity and parent are set
  uint32_t size = 0;
  EpochId epoch{0};
  std::vector<Rank> missing;  // while joins are gathered
  std::string state;          // "forming", "ready", "broken"
  std::string why;            // if broken
};
struct PlanInfo {
  schedule::TeamLayout layout;
  EpochId epoch{0};
  schedule::Plan plan;
};
struct StatusAnswer {
  std::vector<schedule::DaemonStatus> nodes;  // by name
  std::vector<std::string> silent;            // queried, but lost or too late
};
// TraceAnswer is a chunk of a daemon's trace, with the planner's clock before and after.
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
// CollectiveInfo is a call in flight, merged from the nodes' status.
struct CollectiveInfo {
  TeamId team{0};
  CallSeq sequence{0};
  CallArguments arguments;
  double age_s = 0;  // of the oldest
  std::vector<Rank> joined;
  std::vector<Rank> missing;
  Family waits_for = Family::kCommon;  // as in schedule::CallStatus
};

// A Coordinator serves all sessions of one planner. Single-threaded and deterministic: time comes from `*clock`, and
// the messages sent depend only on the calls made. OnConnected is the first call about a session.
//
// Invariant: a team's epoch is recorded in the store before any Commit of it is sent (sub-teams, which have a parent,
// are not recorded); a recorded epoch is never aborted while the team lives; an aborted epoch is never recorded and its
// number never used again; a daemon receives Commit only if all daemons of the team accepted.
class Coordinator {
 public:
  // All pointers must outlive it. Start is the first call.
  Coordinator(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink, CoordinatorOptions options);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Loads the store. The nodes of its teams are away until they come back.
  absl::Status Start();
  // Replaces time-outs and join tokens for operations that begin from now on; the other options stay.
  void SetLive(const CoordinatorOptions& options);

  // --- Sessions ---
  // `from` is the peer's address, for display; it may be empty.
  void OnConnected(SessionId session, const std::string& from = "");
  void OnMessage(SessionId session, const schedule::FromDaemon& message);
  void OnDisconnected(SessionId session);

  // Runs the work that is due at `heard`: all messages that arrived before it have been passed on. The caller invokes
  // it when NextDeadline() is reached, which is InfiniteFuture if nothing is pending. If it runs much later than that,
  // the process was stopped and messages that arrived meanwhile may be unread: the due work waits for another second.
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
  // Removes a node that an administrator declares gone for good: its teams break. FAILED_PRECONDITION: it is connected.
  absl::Status RemoveNode(const std::string& node);
  absl::Status BreakTeam(TeamId team, const std::string& why);
  // Switches the team to newly made plans. `done` is called once, maybe before this returns: with OK when every node
  // runs the new epoch, ABORTED when the old one continues, DATA_LOSS if the team broke meanwhile. A transient obstacle
  // (a node is away, another switch is under way) is retried for `patience`.
  void ReplanTeam(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                  absl::Duration patience = absl::ZeroDuration());
  // Queries `nodes` (empty: all that are connected) for their status, with their latencies if `latencies`. `done` is
  // called once, maybe before this returns.
  void QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
                   std::function<void(const StatusAnswer&)> done, bool latencies = false);
  // Queries a node for a chunk of its trace (`query`'s number is set here). `done` is called once, maybe before this
  // returns: NOT_FOUND; UNAVAILABLE: it is lost; DEADLINE_EXCEEDED.
  void QueryTrace(const std::string& node, schedule::TraceQuery query, absl::Duration timeout,
                  std::function<void(const absl::StatusOr<TraceAnswer>&)> done);
  // Makes the daemons of two nodes measure the path between them; `from` sends the bulk data. `done` is called once,
  // maybe before this returns: with the measurement; INVALID_ARGUMENT: one node; NOT_FOUND; UNAVAILABLE: a node is
  // lost, or they cannot reach each other; DEADLINE_EXCEEDED.
  void Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
               std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done);
  // Returns the calls in flight by (team, awaited class, sequence). A rank is missing if no node reports that it has
  // joined, and its node reports that it has not reached the call or reports nothing.
  std::vector<CollectiveInfo> MergeCalls(const StatusAnswer& answer) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_COORDINATOR_H_
