// SPDX-License-Identifier: Apache-2.0
//
// Forms sub-teams among the daemons of their parent team, without the planner.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAMS_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "daemon/core/formations.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/sub_teams/formation_table.h"
#include "daemon/core/sub_teams/formation_timeouts.h"
#include "daemon/core/sub_teams/formed_reports.h"
#include "daemon/core/sub_teams/local_preparation.h"
#include "daemon/core/sub_teams/parent_trees.h"
#include "daemon/core/sub_teams/promised_duplicates.h"
#include "daemon/core/sub_teams/sub_team_formation.h"
#include "daemon/core/sub_teams/sub_team_maker.h"
#include "daemon/core/sub_teams/sub_team_root.h"
#include "daemon/core/team/sub_team_tree.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// SubTeams takes the joins of a sub-team if all daemons of its parent have Feature::kSubTeams
// (docs/reference/control.md). Joins go up a tree of the parent's edges. The root, which knows when all ranks have
// joined, gives the team an id; Prepare goes down the tree to the members, each of which has the plans already: its
// parent's, or those of an earlier sub-team of the same nodes and ranks. They exchange labels with their neighbors, and
// answer up the tree. The root then commits, or fails all joins with one reason, or has all daemons send their joins to
// the planner, which forms teams of unknown shapes. While the planner is away, the root has the members make plans for
// these, and so it is always with teams of one node.
//
// With the decision about a duplicate the root promises an id to the next one. A daemon prepares that with its joins;
// if all have, the root decides at once.
//
// A daemon without a member in a sub-team passes messages on. After a failure the outcome is kept for joins that come
// late. Thread-compatible.
class SubTeams : public SubTeamJoins {
 public:
  // All must outlive this object.
  SubTeams(const FormationParts* parts, PeerLink* link, const TeamTable* teams, Formations* formations,
           SubTeamHost* host)
      : parts_(parts),
        link_(link),
        teams_(teams),
        formations_(formations),
        host_(host),
        parents_(parts->clock, link, teams),
        timeouts_(parts->clock, parts->options, &parents_),
        table_(parts->clock),
        maker_(&parents_, teams),
        root_(parts->planner, teams, &parents_, &maker_),
        local_(parts->options, link, teams, &maker_, host),
        promised_(teams, &parents_, &table_, &local_),
        reports_(parts->planner, teams) {}

  // --- Parents ---
  // The team is prepared, and all of its daemons form sub-teams. `tree` is this node's place in the tree of its plans.
  void AddParent(const Team& team, const TreePlace& tree);
  // All ranks here have left the team, which is removed next. Messages of the others still pass through this daemon.
  void ParentLeft(const Team& team) {
    reports_.Drop(team.id());
    parents_.Leave(team);
  }
  // The team is broken, and so are its sub-teams that are being formed.
  void ParentBroken(TeamId team, const schedule::FailureReport& why);
  // The team's first epoch is committed, by any way.
  void NoteFormed(const Team& team) { maker_.Note(team); }

  // --- SubTeamJoins ---
  bool Takes(TeamId parent) const override { return parents_.HasRanks(parent); }
  void Join(uint64_t request, TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size) override;
  void Withdraw(uint64_t request, schedule::FailureReport why) override;
  void Refuse(TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size,
              const schedule::FailureReport& why) override;

  // --- Neighbors ---
  // Returns false if the message is not about the formation of a sub-team.
  bool OnPeerMessage(Incarnation from, const PeerMessage& message);
  // A neighbor has broken a team that is not here, or not yet.
  void OnEarlyBreak(Incarnation from, const BreakMessage& message) { local_.AddEarly(from, message); }
  // A prepared team has broken before its decision. It is removed next.
  void Broken(TeamId team, const schedule::FailureReport& why);
  // A neighbor's answer has committed a prepared team, which is reported to the planner.
  void CommittedByNeighbor(const Team& team);

  // --- The planner ---
  void OnRegistered(const schedule::Registered& registered);
  void OnPlannerDown() { root_.OnPlannerDown(); }
  void OnIds(const schedule::TeamIds& ids) { root_.OnIds(ids); }
  // The planner's cluster has this UUID now.
  void OnCluster(const std::string& uuid) { root_.OnCluster(uuid); }
  // The team is committed. The planner hears of it with the next Tick, unless all ranks here have left it before.
  void NoteCommitted(const Team& team);
  void ReportFormed(TeamId team) override;
  // Returns whether the planner is there, and has not heard of the team, which is committed.
  bool IsUnreported(TeamId team) const { return reports_.IsMissing(team); }
  // Returns whether daemons are forming the team, so that the planner does not know it.
  bool IsForming(TeamId team) const { return local_.IsPrepared(team); }
  // The prepared team is not formed, and is removed.
  void Forget(TeamId team);

  // Ends formations whose time is over. Called every few hundred milliseconds.
  void Tick();
  void AppendStatus(schedule::DaemonStatus* status) const;
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  using Key = SubTeamKey;
  using Formation = SubTeamFormation;
  using State = SubTeamFormation::State;
  using Outcome = SubTeamOutcome;

  void On(NodeIndex from, const SubTeamJoinMessage& message);
  void On(NodeIndex from, const SubTeamPrepareMessage& message);
  void On(NodeIndex from, const SubTeamReplyMessage& message);
  void On(NodeIndex from, const SubTeamDecisionMessage& message);
  void OnLabel(Incarnation from, const SubTeamLabelMessage& message);

  // Sends the unsent joins up the tree, or adds them at the root, which begins to prepare the team with the last one.
  void Flush(const Key& key, Formation* formation);
  void AddAtRoot(const Key& key, NodeIndex node, const std::vector<Rank>& ranks, uint32_t size);
  // Prepares the team here, and has the nodes below prepare it, unless they have.
  void Prepare(const Key& key, const SubTeamPrepareMessage& message, bool asks = true);
  // At the root: the members cannot prepare the team by the plans that they know. Has them make plans, if they may.
  // Returns whether it does.
  bool PrepareAgain(const Key& key);
  // Answers up the tree, or decides at the root, if nothing is missing.
  void AnswerIfDone(const Key& key);
  // A member cannot take part: the root decides that.
  void Fail(const Key& key, const Outcome& outcome);
  // The decision is known: passes it down, and ends the joins of this node.
  void EndUnformed(const Key& key, const Outcome& outcome);
  void EndFormed(const Key& key, TeamId next);
  void End(uint64_t request, const Outcome& outcome);
  // Tells the nodes below that the prepared team is formed, and the promised id, and returns its formation, which is
  // over here.
  Formation PassFormed(const Key& key, TeamId next);
  // Ends the formation if its time is over.
  void Tick(const Key& key);

  const FormationParts* const parts_;
  PeerLink* const link_;
  const TeamTable* const teams_;
  Formations* const formations_;
  SubTeamHost* const host_;

  ParentTrees parents_;
  FormationTimeouts timeouts_;
  FormationTable table_;
  SubTeamMaker maker_;
  SubTeamRoot root_;
  LocalPreparation local_;
  PromisedDuplicates promised_;
  FormedReports reports_;
  uint64_t formed_ = 0, passed_on_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAMS_H_
