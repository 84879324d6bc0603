// SPDX-License-Identifier: Apache-2.0
//
// Manages the life of this node's teams: the planner's decisions prepare and commit them, ranks post calls and leave,
// and failures break them.
#ifndef COPSE_DAEMON_CORE_TEAM_REGISTRY_H_
#define COPSE_DAEMON_CORE_TEAM_REGISTRY_H_

#include <set>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/call_order.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/client_table.h"
#include "daemon/core/core_options.h"
#include "daemon/core/derived_teams.h"
#include "daemon/core/drain_state.h"
#include "daemon/core/formations.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/sub_teams/sub_teams.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_table.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"

namespace copse::daemon {

// RegistryParts are the parts of the daemon that a TeamRegistry uses. All must outlive it.
struct RegistryParts : FormationParts {
  emu::Engine* engine = nullptr;
  TeamHost* host = nullptr;
  const DrainState* drain = nullptr;
};

// A TeamRegistry owns the teams of this node. It keeps a team and its derived teams together: they break together, and
// end when the last rank here leaves. Thread-compatible.
class TeamRegistry : private SubTeamHost {
 public:
  explicit TeamRegistry(const RegistryParts& parts);

  TeamTable& teams() { return teams_; }
  const TeamTable& teams() const { return teams_; }
  Formations& formations() { return formations_; }
  const Formations& formations() const { return formations_; }
  const DerivedTeams& derived_teams() const { return derived_; }

  // --- The planner ---
  // Returns the teams for Register: those in the table, and broken ones that all ranks here have left.
  std::vector<schedule::RunningTeam> RunningTeams() const;
  // The planner has accepted this daemon: breaks the teams that it has ended meanwhile, and repeats the joins.
  void OnRegistered(const schedule::Registered& m);
  void OnPlannerDown() {
    derived_.PlannerLost();
    sub_teams_.OnPlannerDown();
  }
  void On(const CheckedPrepare& m);
  void On(const schedule::Commit& m);
  void On(const schedule::Abort& m);
  void On(const schedule::BreakTeam& m);
  void On(const schedule::EndTeam& m);
  void On(const schedule::TeamIds& m) { sub_teams_.OnIds(m); }
  void On(const schedule::Cluster& m) { sub_teams_.OnCluster(m.uuid); }

  // --- Ranks of this node ---
  // `post` was validated. It gets exactly one event, unless the rank leaves before.
  void Post(const Membership& membership, CallPost&& post);
  // Returns whether the rank has a call in flight, or waiting to start, in the team or in a derived team of it.
  bool HasCallInFlight(const Team& team, Rank rank) const;
  // The rank leaves the team, which is not a derived one, and its derived teams. If no rank is left here, they are all
  // removed, and `*team` is gone.
  void Leave(Team* team, Rank rank);
  // Returns whether no call of any team is in flight or waits to start.
  bool Idle() const;

  // --- Neighbors ---
  // Ignores messages about teams that are not here.
  void OnPeerMessage(Incarnation from, const PeerMessage& message);
  // --- The end ---
  // The team has just broken: notifies the planner, and breaks the parent or the derived teams, too.
  void OnBroken(TeamId id, const schedule::FailureReport& why);
  // Removes teams that broke before they were formed. Must not be called from within a function of a team.
  void RemoveBrokenFormations();

  // Ends formations whose time is over, compares calls that have waited for long with neighbors, and asks for decisions
  // of epoch switches. Called every few hundred milliseconds, `since_last` after the last time.
  void Tick(absl::Duration since_last);
  void AppendStatus(schedule::DaemonStatus* status) const;
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  // --- SubTeamHost ---
  schedule::PrepareReply PrepareSubTeam(const CheckedPrepare& m, const PortEdges* like) override;
  void CommitSubTeam(TeamId id, const std::vector<schedule::EdgeLabel>& outgoing) override;
  void DropSubTeam(TeamId id) override;

  // A call of the team has waited for long: starts the comparison of calls of all collective classes with neighbors.
  void CompareCalls(const Team& team) const;
  // Lists the teams of this node to the planner, if it is time, or other calls are in flight for long than at the last
  // look, which is some time ago.
  void SayTeams();
  bool HasOtherLongCalls(absl::Time now);
  // Adds the team of a first Prepare. Returns null, and sets `*why`, if it is refused.
  Team* Add(const CheckedPrepare& m, schedule::FailureReport* why);
  void Refuse(const CheckedPrepare& m, schedule::FailureReport why);
  // Returns this node's index in a new team. NOT_FOUND: a rank's process is gone. INVALID_ARGUMENT: the layout is not
  // valid.
  absl::StatusOr<NodeIndex> PlaceIn(const CheckedPrepare& m) const;
  // An epoch of the team was committed, by the planner's message or a neighbor's. If it is the first one, the ranks
  // here join the team.
  void OnFormed(Team* team);
  // Returns the team as Register names it, without its plans.
  static schedule::RunningTeam Describe(const Team& team);
  // Notifies the planner that no rank here is left, and keeps a broken team among the farewells.
  void SayLeft(const Team& team);
  const std::string& node_name() const { return parts_.options->node.name; }

  const RegistryParts parts_;
  TeamTable teams_;
  Formations formations_;
  DerivedTeams derived_;
  SubTeams sub_teams_;
  CallOrder order_;
  // It keeps broken teams that all ranks here have left, until the planner ends them. Register repeats them, since
  // messages on a stream that was cut are lost, and ranks elsewhere may need the reason from the planner.
  std::vector<schedule::RunningTeam> farewells_;
  absl::Duration held_;   // time in which calls waited for the decision of an epoch switch, summed over teams
  absl::Time next_list_;  // of the teams, to the planner
  absl::Time next_look_;  // at calls that are in flight for long
  using CallKey = std::tuple<TeamId, Family, CallSeq>;
  std::set<CallKey> long_calls_;  // at the last look
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_REGISTRY_H_
