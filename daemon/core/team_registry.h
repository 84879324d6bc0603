// SPDX-License-Identifier: Apache-2.0
//
// The life of this node's teams: prepared and committed as the planner decides, used and left by their ranks, broken.
#ifndef COPSE_DAEMON_CORE_TEAM_REGISTRY_H_
#define COPSE_DAEMON_CORE_TEAM_REGISTRY_H_

#include <vector>

#include "absl/status/statusor.h"
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
#include "daemon/core/team/team.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_table.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"

namespace copse::daemon {

// Parts of the daemon that a TeamRegistry uses. All outlive it.
struct RegistryParts : FormationParts {
  emu::Engine* engine = nullptr;
  TeamHost* host = nullptr;
  const DrainState* drain = nullptr;
};

// A TeamRegistry keeps a team and its derived teams together: they break together, and end when the last rank here
// leaves. Thread-compatible.
class TeamRegistry {
 public:
  explicit TeamRegistry(const RegistryParts& parts);

  TeamTable& teams() { return teams_; }
  const TeamTable& teams() const { return teams_; }
  Formations& formations() { return formations_; }
  const Formations& formations() const { return formations_; }
  const DerivedTeams& derived_teams() const { return derived_; }

  // --- The planner ---
  // The teams here, as Register has them.
  std::vector<schedule::RunningTeam> RunningTeams() const;
  // The planner has accepted this daemon.
  void OnRegistered(const schedule::Registered& m);
  void OnPlannerDown() { derived_.PlannerLost(); }
  void On(const schedule::Prepare& m);
  void On(const schedule::Commit& m);
  void On(const schedule::Abort& m);
  void On(const schedule::BreakTeam& m);
  void On(const schedule::EndTeam& m);

  // --- Ranks of this node ---
  // `post` was validated. It gets exactly one event.
  void Post(const Membership& membership, CallPost&& post);
  // Whether the rank has a call in flight in the team or in one of its derived teams.
  bool HasCallInFlight(const Team& team, Rank rank) const;
  // The rank leaves the team and its derived teams, which end here with the last rank.
  void Leave(Team* team, Rank rank);
  bool Idle() const;  // no call in flight

  // --- Neighbors ---
  void OnPeerMessage(Incarnation from, const PeerMessage& message);
  // A call of the team has waited for long: compares calls of all classes with its neighbors.
  void CompareCalls(const Team& team) const;

  // --- The end ---
  void OnBroken(TeamId id, const schedule::FailureReport& why);
  // Removes teams that have broken before they were formed.
  void RemoveBrokenFormations();

  void AppendStatus(schedule::DaemonStatus* status) const;
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  Team* Add(const schedule::Prepare& m);  // null: it was refused, and the planner was notified
  void Refuse(const schedule::Prepare& m, schedule::FailureReport why);
  // Returns this node's place in a new team, or why it cannot be in it. NOT_FOUND: a member of it is gone.
  absl::StatusOr<NodeIndex> CheckLayout(const schedule::Prepare& m) const;
  // The team's first epoch is committed, by the planner's message or a neighbor's.
  void OnFormed(Team* team);
  static schedule::RunningTeam Describe(const Team& team);  // without its plans
  void SayLeft(const Team& team);
  const std::string& node_name() const { return parts_.options->node.name; }

  const RegistryParts parts_;
  TeamTable teams_;
  Formations formations_;
  DerivedTeams derived_;
  CallOrder order_;
  // Broken teams that all ranks here have left, until the planner ends them: messages on a stream that was cut are
  // lost, and ranks elsewhere may wait for the planner's reason.
  std::vector<schedule::RunningTeam> farewells_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_REGISTRY_H_
