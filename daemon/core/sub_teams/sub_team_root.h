// SPDX-License-Identifier: Apache-2.0
//
// Gathers and names sub-teams at the root of their parent's tree.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_ROOT_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_ROOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/sub_teams/parent_trees.h"
#include "daemon/core/sub_teams/sub_team_formation.h"
#include "daemon/core/sub_teams/sub_team_maker.h"
#include "daemon/core/sub_teams/team_id_pool.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// A SubTeamRoot does what only the roots of parents do: it adds up the joins of all nodes, and gives a sub-team whose
// ranks have all joined its id. Ids are the planner's, requested in blocks while there is a parent. One is
// promised to the next duplicate of a parent, so that the nodes can prepare it with their joins. Thread-compatible.
class SubTeamRoot {
 public:
  // All must outlive this object.
  SubTeamRoot(PlannerSession* planner, const TeamTable* teams, ParentTrees* parents, const SubTeamMaker* maker)
      : planner_(planner), teams_(teams), parents_(parents), maker_(maker) {}

  // --- Joins ---
  // Adds ranks of a node of the parent, which is known here. Returns why the sub-team cannot be formed.
  std::optional<SubTeamOutcome> Add(const SubTeamKey& key, SubTeamFormation* formation, NodeIndex node,
                                    const std::vector<Rank>& ranks, uint32_t size) const;
  // Notes whether the node has prepared the promised id with its joins.
  void NoteAhead(const SubTeamJoinMessage& join, SubTeamFormation* formation) const;
  // All ranks have joined: fills in what the members prepare, and whether all other nodes have prepared it with their
  // joins; or returns why daemons cannot form the team.
  std::optional<SubTeamOutcome> Name(const SubTeamKey& key, const SubTeamFormation& formation,
                                     SubTeamPrepareMessage* prepare, bool* are_all_ahead);
  // Members have no plans for a prepared sub-team: if the planner is away, fills in what they prepare to make plans
  // themselves. Returns whether it did.
  bool NameAgain(const SubTeamKey& key, const SubTeamFormation& formation, SubTeamPrepareMessage* prepare);
  // A duplicate of the parent is formed: promises an id to the next one, and returns it; 0: there are no ids.
  TeamId Promise(TeamId parent);

  // --- Ids ---
  // Requests ids if few are left, and there is a parent: this node may be the root of its sub-teams.
  void RequestIds();
  // The planner has accepted the daemon. Promises of another cluster's ids are void.
  void OnRegistered(const schedule::Registered& registered);
  void OnPlannerDown() { ids_.DropRequest(); }
  void OnIds(const schedule::TeamIds& ids) { ids_.Add(ids); }
  // The planner's cluster has this UUID now.
  void OnCluster(const std::string& uuid);

 private:
  std::optional<TeamId> TakeId();

  PlannerSession* const planner_;
  const TeamTable* const teams_;
  ParentTrees* const parents_;
  const SubTeamMaker* const maker_;
  TeamIdPool ids_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_ROOT_H_
