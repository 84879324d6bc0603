// SPDX-License-Identifier: Apache-2.0
//
// Makes the layout and plans of a sub-team from those that this node has.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_MAKER_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_MAKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/sub_teams/known_shapes.h"
#include "daemon/core/sub_teams/parent_trees.h"
#include "daemon/core/sub_teams/sub_team_formation.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::daemon {

// A SubTeamMaker knows the plans of parents, and those of earlier sub-teams by their nodes and ranks. If the root wants
// it, or one node has all ranks, it makes the plans. Thread-compatible.
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
  // Adds the addresses of the nodes that have the ranks, by the parent's nodes, so that the members make the plans.
  // Returns false if one is not known, or they do not fit into the message.
  bool AddAddresses(const std::map<NodeIndex, std::string>& addresses, SubTeamPrepareMessage* message) const;
  // Fills in the team that the root of a known parent asks for, and the hash of its plans, 0 for its parent's; or
  // returns why it cannot be formed.
  std::optional<SubTeamOutcome> Make(const SubTeamPrepareMessage& message, CheckedPrepare* prepare, uint64_t* hash);

 private:
  // The nodes and ranks of a sub-team, and its nodes by those of the parent.
  struct Members {
    std::vector<schedule::TeamNode> nodes;
    schedule::TeamShape shape;
    std::map<NodeIndex, NodeIndex> index_of;
  };

  std::optional<SubTeamOutcome> LikeParent(const SubTeamPrepareMessage& message, CheckedPrepare* prepare,
                                           SharedLayout* like) const;
  // Fills in plans that are known, or made here.
  std::optional<SubTeamOutcome> ByRuns(const SubTeamPrepareMessage& message, CheckedPrepare* prepare,
                                       SharedLayout* like, uint64_t* hash);
  static std::optional<SubTeamOutcome> MembersOf(const SubTeamPrepareMessage& message,
                                                 const schedule::TeamLayout& parent, Members* members);
  std::optional<SubTeamOutcome> ByPosition(const SubTeamPrepareMessage& message, Members members,
                                           CheckedPrepare* prepare, SharedLayout* like, uint64_t* hash) const;

  const ParentTrees* const parents_;
  const TeamTable* const teams_;
  KnownShapes shapes_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAM_MAKER_H_
