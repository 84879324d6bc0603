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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/options.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/nodes/cluster_adoption.h"
#include "planner/coordinator/nodes/lost_ends.h"
#include "planner/coordinator/nodes/registration.h"
#include "planner/coordinator/nodes/reunion.h"
#include "planner/coordinator/nodes/silence.h"
#include "planner/coordinator/nodes/sweeper.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/better_plans.h"
#include "planner/coordinator/teams/derived_teams.h"
#include "planner/coordinator/teams/ends.h"
#include "planner/coordinator/teams/epochs.h"
#include "planner/coordinator/teams/formation.h"
#include "planner/coordinator/teams/sub_teams.h"
#include "planner/coordinator/teams/switches.h"
#include "planner/coordinator/teams/team_listener.h"
#include "planner/coordinator/views/cluster_view.h"
#include "planner/coordinator/views/daemon_queries.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A Coordinator serves all sessions of one planner. It is single-threaded and deterministic: time comes from `*clock`,
// and the messages that it sends depend only on the calls to it. OnConnected is the first call about a session.
//
// It consists of parts that share a State; each handles the messages of one matter. A part calls those above it in the
// list of members, and those below hear of what they need by TeamListener. Epochs has the invariants.
class Coordinator : private TeamListener {
 public:
  // The objects behind the pointers must outlive this one. Start is the first call.
  Coordinator(const Clock* clock, Store* store, PlanMaker* plan_maker, SessionSink* sink, CoordinatorOptions options);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Loads the store; the nodes of its teams are away until they register again. Errors: those of Store::Load.
  absl::Status Start();
  // Replaces time-outs and join tokens for operations that begin from now on; the other options stay.
  void SetLive(const CoordinatorOptions& options);

  // --- Sessions ---
  // Begins a session. `from` is the peer's address, for display; it may be empty.
  void OnConnected(SessionId session, const std::string& from = "");
  // Returns false if the session's daemon is refused should it register so, whatever its teams are.
  bool Admits(SessionId session, const schedule::NodeAnnouncement& node) {
    return state_.nodes.FindSession(session) != nullptr && registration_.Admits(session, node);
  }
  void OnMessage(SessionId session, const schedule::FromDaemon& message);
  void OnDisconnected(SessionId session);

  // Runs the work that is due at `heard`, a time before which all arrived messages have been passed to OnMessage. The
  // caller calls Tick when NextDeadline() is reached, which is InfiniteFuture if nothing is pending. If the call comes
  // much later, the process was stopped, and messages that arrived meanwhile may be unread: the work that is due waits
  // for another second.
  void Tick(absl::Time heard);
  absl::Time NextDeadline() const;

  // --- What it knows; requires Start ---
  const ClusterView& view() const { return view_; }
  const EventLog& events() const { return state_.events; }  // what happened to nodes and teams, the last of it
  const Outbox& outbox() const { return state_.outbox; }
  const FormationCounts& formations() const { return state_.formations; }
  uint64_t quarantined() const { return quarantined_; }  // Snapshot::quarantined
  uint64_t term() const { return state_.ids->term(); }   // of the next id
  const ClusterIdentity& cluster() const { return *state_.cluster; }
  DaemonQueries& queries() { return queries_; }
  ClusterAdoption& adoption() { return adoption_; }

  // --- What it keeps for others ---
  // Returns the topologies that the store had. Called once.
  std::map<uint64_t, TopologyVersion> TakeTopologies() { return std::exchange(topologies_, {}); }
  // Stores or drops a topology; `done` is Outbox::Record's.
  void Record(PutTopology change, Outbox::Done done) { state_.outbox.Record(std::move(change), std::move(done)); }
  void Record(DropTopology change) { state_.outbox.Record(change); }

  // --- Administration. Errors: NOT_FOUND, FAILED_PRECONDITION, INVALID_ARGUMENT; one line each ---
  // `why`: why the node is to take no new teams; nullopt: it takes them again.
  void SetDraining(const std::string& node, const std::optional<std::string>& why,
                   std::function<void(const absl::Status&)> done);
  // Removes a node that an administrator declares gone for good: its teams break. Errors: NOT_FOUND;
  // FAILED_PRECONDITION if the node is connected; those of the store.
  absl::Status RemoveNode(const std::string& node);
  absl::Status BreakTeam(TeamId team, const std::string& why);
  // Is Switches::SwitchTeam.
  void ReplanTeam(TeamId team, const PlanOptions& options, std::function<void(const absl::Status&)> done,
                  absl::Duration patience = absl::ZeroDuration()) {
    switches_.SwitchTeam(team, options, std::move(done), patience);
  }

 private:
  // --- TeamListener ---
  void OnQuickPlans(TeamId team) override { better_plans_.Start(team); }
  void OnFirstEpochAborted(const schedule::TeamLayout& layout, const schedule::FailureReport& why, bool again,
                           std::vector<Join> unprepared) override;
  void OnMemberLeft(TeamId team, uint32_t member) override { derived_.OnMemberLeft(team, member); }
  void OnBroken(const schedule::TeamLayout& layout, const schedule::FailureReport& why, const Node* reporter) override {
    derived_.OnBroken(layout, why, reporter);
  }
  void OnForgotten(const schedule::TeamLayout& layout) override { derived_.OnForgotten(layout); }

  void Load(Snapshot snapshot);
  void ProtocolError(SessionId session, const std::string& what);
  void OnMessageOf(Node& node, const schedule::FromDaemon& message);
  void StreamEnded(SessionId session);  // requires a registered session
  void OnDataAddress(Node& node, const schedule::DataAddress& message);
  void OnStopping(SessionId session, const schedule::Stopping& message);

  State state_;
  Store* const store_;
  Epochs epochs_;
  Ends ends_;
  DerivedTeams derived_;
  Formation formation_;
  Switches switches_;
  DaemonQueries queries_;
  BetterPlans better_plans_;
  Reunion reunion_;
  SubTeams sub_teams_;
  Silence silence_;
  LostEnds lost_ends_;
  Sweeper sweeper_;
  ClusterAdoption adoption_;
  Registration registration_;
  ClusterView view_;
  uint64_t quarantined_ = 0;
  std::map<uint64_t, TopologyVersion> topologies_;
  absl::Time forgiven_until_ = absl::InfinitePast();
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_COORDINATOR_H_
