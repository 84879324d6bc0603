// SPDX-License-Identifier: Apache-2.0
//
// Keeps the teams that may be parents of sub-teams, and sends messages along their trees.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_PARENT_TREES_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_PARENT_TREES_H_

#include <list>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/sub_team_tree.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// ParentTrees keeps this node's place in the tree of each parent. A parent that the ranks here have left is kept for a
// while, since messages of the other nodes pass through this one. Thread-compatible.
class ParentTrees {
 public:
  struct Parent {
    TreePlace place;
    NodeIndex self{0};
    // The layout and the time are set when the ranks here have left the team.
    SharedLayout layout;
    absl::Time left;
    TeamId promised{
        0};  // the id that the root gives to the next duplicate, if all prepare it with their joins; 0: none
  };

  // All must outlive this object.
  ParentTrees(const Clock* clock, PeerLink* link, const TeamTable* teams) : clock_(clock), link_(link), teams_(teams) {}

  void Add(const Team& team, const TreePlace& place);
  // All ranks here have left the team, which is removed next.
  void Leave(const Team& team);
  // Returns whether the team was a parent.
  bool Erase(TeamId team) { return parents_.erase(team) != 0; }
  // Forgets the parents that were left `timeout` ago.
  void DropLeft(absl::Duration timeout);

  bool empty() const { return parents_.empty(); }
  bool contains(TeamId team) const { return parents_.contains(team); }
  const Parent& at(TeamId team) const { return parents_.at(team); }
  // Returns whether ranks here are in the team.
  bool HasRanks(TeamId team) const;
  // Returns whether this node is the root of the team's tree; false if the team is not known here.
  bool IsRoot(TeamId team) const;
  // Returns null if the team is not known here.
  const schedule::TeamLayout* LayoutOf(TeamId team) const;
  // Returns the daemon's node in the team, which is known here; nothing if it has none.
  std::optional<NodeIndex> NodeOf(TeamId team, Incarnation daemon) const;

  // Replaces the promise of a team, if it is known here.
  void Promise(TeamId team, TeamId id);
  // Returns the promised id, which is not promised any more.
  TeamId TakePromise(TeamId team);
  void DropPromises();

  // The message is dropped if the team is not known here.
  void SendTo(TeamId team, NodeIndex node, const PeerMessage& message);
  // Does nothing at the root.
  void SendUp(TeamId team, const PeerMessage& message);

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  const Clock* const clock_;
  PeerLink* const link_;
  const TeamTable* const teams_;
  std::map<TeamId, Parent> parents_;
  // Parents that the ranks here have left, in that order. A list, since a deque takes memory without elements.
  std::list<TeamId> left_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_PARENT_TREES_H_
