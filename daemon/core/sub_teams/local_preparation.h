// SPDX-License-Identifier: Apache-2.0
//
// Prepares sub-teams at this node.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_LOCAL_PREPARATION_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_LOCAL_PREPARATION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "daemon/core/core_options.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/sub_teams/early_breaks.h"
#include "daemon/core/sub_teams/early_labels.h"
#include "daemon/core/sub_teams/sub_team_formation.h"
#include "daemon/core/sub_teams/sub_team_maker.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// A SubTeamHost prepares and commits the teams that SubTeams forms.
class SubTeamHost {
 public:
  virtual ~SubTeamHost() = default;
  // Adds and prepares the team, whose layout and plans are those of an earlier one. The reply says why if it is
  // refused. `like`: see PortEdges::Open.
  virtual schedule::PrepareReply PrepareSubTeam(const CheckedPrepare& prepare, const PortEdges* like) = 0;
  // All members have prepared the team.
  virtual void CommitSubTeam(TeamId team, const std::vector<schedule::EdgeLabel>& outgoing) = 0;
  // The prepared team is not formed: removes it. Its joins stay.
  virtual void DropSubTeam(TeamId team) = 0;
};

// LocalPreparation prepares a sub-team that has members at this node, and connects them with their neighbors in it.
// Thread-compatible.
class LocalPreparation {
 public:
  // All must outlive this object.
  LocalPreparation(const CoreOptions* options, PeerLink* link, const TeamTable* teams, SubTeamMaker* maker,
                   SubTeamHost* host)
      : options_(options), link_(link), teams_(teams), maker_(maker), host_(host) {}

  // Prepares the team that the root of a known parent asks for; its neighbors are in the formation then. Returns why it
  // cannot be prepared.
  std::optional<SubTeamOutcome> Prepare(const SubTeamPrepareMessage& message, SubTeamFormation* formation);
  // Undoes Prepare, also one that was refused. Returns the id, which the formation does not have any more.
  TeamId Undo(SubTeamFormation* formation);
  // A label, or a break, came before the Prepare of its team.
  void AddEarly(TeamId team, Incarnation from, uint32_t label) { early_labels_.Add(team, from, label); }
  void AddEarly(Incarnation from, const BreakMessage& message) { early_breaks_.Add(message.team, from, message.why); }
  // The formation is over: its neighbors are not needed.
  void Release(SubTeamFormation* formation);
  void BreakAtNeighbors(const SubTeamFormation& formation, const schedule::FailureReport& why);

  // Returns whether the team is prepared, and not decided.
  bool IsPrepared(TeamId team) const { return prepared_.contains(team); }
  // The team is not formed: removes it if it is prepared.
  void Drop(TeamId team) {
    if (IsPrepared(team)) host_->DropSubTeam(team);
  }
  // The team is decided, or removed.
  void Forget(TeamId team) { prepared_.erase(team); }

 private:
  // Acquires the team's neighbors, and sends them this node's labels, or has those of the parent, whose duplicate it
  // is.
  std::optional<SubTeamOutcome> MeetNeighbors(TeamId parent, SubTeamFormation* formation, const CheckedPrepare& prepare,
                                              const std::vector<schedule::EdgeLabel>& incoming, const PortEdges* like);

  const CoreOptions* const options_;
  PeerLink* const link_;
  const TeamTable* const teams_;
  SubTeamMaker* const maker_;
  SubTeamHost* const host_;
  EarlyBreaks early_breaks_;
  EarlyLabels early_labels_;
  std::set<TeamId> prepared_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_LOCAL_PREPARATION_H_
