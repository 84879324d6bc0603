// SPDX-License-Identifier: Apache-2.0
//
// Makes the layout and plans of a sub-team from those that this node has.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_MAKER_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_MAKER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/sub_teams/known_shapes.h"
#include "daemon/core/sub_teams/parent_trees.h"
#include "daemon/core/sub_teams/sub_team_formation.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"

namespace copse::daemon {

// A SubTeamMaker knows the plans of parents, and those of earlier sub-teams by their nodes and ranks.
// Thread-compatible.
class SubTeamMaker {
 public:
  // Both must outlive this object.
  SubTeamMaker(const ParentTrees* parents, const TeamTable* teams) : parents_(parents), teams_(teams) {}

  // The team is formed: later sub-teams may have its plans.
  void Note(const Team& team);
  // At the root of a known parent: fills in which nodes have the ranks, the parent's nodes by rank, or returns why
  // daemons cannot form the team.
  std::optional<SubTeamOutcome> Describe(const std::vector<NodeIndex>& node_of_rank,
                                         SubTeamPrepareMessage* message) const;
  // Fills in the team that the root of a known parent asks for, and the hash of its plans, 0 for its parent's; or
  // returns why it cannot be formed.
  std::optional<SubTeamOutcome> Make(const SubTeamPrepareMessage& message, CheckedPrepare* prepare, uint64_t* hash);

 private:
  std::optional<SubTeamOutcome> LikeParent(const SubTeamPrepareMessage& message, CheckedPrepare* prepare,
                                           SharedLayout* like) const;
  std::optional<SubTeamOutcome> LikeEarlier(const SubTeamPrepareMessage& message, CheckedPrepare* prepare,
                                            SharedLayout* like, uint64_t* hash);

  const ParentTrees* const parents_;
  const TeamTable* const teams_;
  KnownShapes shapes_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_MAKER_H_
