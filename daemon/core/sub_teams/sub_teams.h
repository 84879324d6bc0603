// SPDX-License-Identifier: Apache-2.0
//
// Forms sub-teams among the daemons of their parent team, without the planner.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAMS_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAMS_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/formations.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/sub_teams/known_shapes.h"
#include "daemon/core/sub_teams/rank_gathering.h"
#include "daemon/core/sub_teams/team_id_pool.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/sub_team_tree.h"
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

// SubTeams takes the joins of a sub-team if all daemons of its parent have Feature::kSubTeams
// (docs/reference/control.md). Joins go up a tree of the parent's edges. The root, which knows when all ranks have
// joined, gives the team an id; Prepare goes down the tree to the members, each of which has the plans already: its
// parent's, or those of an earlier sub-team of the same nodes and ranks. They exchange labels with their neighbors, and
// answer up the tree. The root then commits, or fails all joins with one reason, or has all daemons send their joins to
// the planner, which forms teams of unknown shapes.
//
// A Formation is the state of one sub-team at one daemon: joins are gathered, then the team is prepared, then it is
// over. A daemon without a member in it passes messages on. After a failure the outcome is kept for joins that come
// late. Thread-compatible.
class SubTeams : public SubTeamJoins {
 public:
  // All must outlive this object.
  SubTeams(const FormationParts* parts, PeerLink* link, const TeamTable* teams, Formations* formations,
           SubTeamHost* host)
      : parts_(parts), link_(link), teams_(teams), formations_(formations), host_(host) {}

  // --- Parents ---
  // The team is prepared, and all of its daemons form sub-teams. `tree` is this node's place in the tree of its plans.
  void AddParent(const Team& team, const TreePlace& tree);
  // All ranks here have left the team, which is removed next. Messages of the others still pass through this daemon.
  void ParentLeft(const Team& team);
  // The team is broken, and so are its sub-teams that are being formed.
  void ParentBroken(TeamId team, const schedule::FailureReport& why);
  // The team's first epoch is committed, by any way.
  void NoteFormed(const Team& team);

  // --- SubTeamJoins ---
  bool Takes(TeamId parent) const override;
  void Join(uint64_t request, TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size) override;
  void Withdraw(uint64_t request, schedule::FailureReport why) override;
  void Refuse(TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size,
              const schedule::FailureReport& why) override;

  // --- Neighbors ---
  // Returns false if the message is not about the formation of a sub-team.
  bool OnPeerMessage(Incarnation from, const PeerMessage& message);
  // A prepared team has broken before its decision. It is removed next.
  void Broken(TeamId team, const schedule::FailureReport& why);
  // A neighbor's answer has committed a prepared team, which is reported to the planner.
  void CommittedByNeighbor(const Team& team);

  // --- The planner ---
  void OnRegistered(const schedule::Registered& registered);
  void OnPlannerDown() { ids_.DropRequest(); }
  void OnIds(const schedule::TeamIds& ids) { ids_.Add(ids); }
  // The team is committed. The planner hears of it with the next Tick, unless all ranks here have left it before.
  void NoteCommitted(const Team& team);
  void ReportFormed(TeamId team) override;
  // Returns whether the planner is there, and has not heard of the team, which is committed.
  bool IsUnreported(TeamId team) const;
  // Returns whether daemons are forming the team, so that the planner does not know it.
  bool IsForming(TeamId team) const { return prepared_.contains(team); }
  // The prepared team is not formed, and is removed.
  void Forget(TeamId team);

  // Ends formations whose time is over. Called every few hundred milliseconds.
  void Tick();
  void AppendStatus(schedule::DaemonStatus* status) const;
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  using Key = std::pair<TeamId, schedule::TeamIdentity>;  // the parent, and the sub-team

  struct Parent {
    TreePlace place;
    NodeIndex self{0};
    // The layout and the time are set when the ranks here have left the team.
    SharedLayout layout;
    absl::Time left;
  };
  enum class State : uint8_t { kGathering, kPreparing, kOver };
  struct Outcome {
    schedule::FailureReport why;
    bool again = false;  // the planner forms the team
  };
  struct Formation {
    State state = State::kGathering;
    absl::Time since;              // beginning of the state
    uint32_t size = 0;             // of the sub-team, by the joins of this node
    std::map<Rank, uint64_t> own;  // joins of this node
    std::set<Rank> unsent;         // those that have not been sent up the tree
    std::set<NodeIndex> below;     // nodes of the parent whose joins have come, or have been passed on, from there
    std::set<Rank> passed;         // ranks that have joined here or below
    RankGathering gathering;       // at the root

    // --- While it is prepared ---
    TeamId id{0};
    std::set<NodeIndex> unanswered;              // of `below`
    std::vector<schedule::TeamNode> neighbors;   // of the new team, connected meanwhile
    std::map<Incarnation, NodeIndex> unlabeled;  // neighbors whose labels are missing, with their indices there
    std::vector<schedule::EdgeLabel> labels;
    uint64_t plans = 0;  // hash of the members' plans; 0: not known, or the parent's
    bool has_answered = false;

    Outcome outcome;  // when it is over
  };

  void On(NodeIndex from, const SubTeamJoinMessage& message);
  void On(NodeIndex from, const SubTeamPrepareMessage& message);
  void On(NodeIndex from, const SubTeamReplyMessage& message);
  void On(NodeIndex from, const SubTeamDecisionMessage& message);
  void OnLabel(Incarnation from, const SubTeamLabelMessage& message);

  // Returns false if the parent is not known here.
  bool IsRoot(const Key& key) const {
    const auto it = parents_.find(key.first);
    return it != parents_.end() && !it->second.place.up.has_value();
  }
  // Returns null if the parent is not known here.
  const schedule::TeamLayout* LayoutOf(TeamId parent) const;
  void SendTo(TeamId parent, NodeIndex node, const PeerMessage& message);
  void SendUp(const Key& key, const PeerMessage& message);
  // Returns the formation that gathers joins, begins one, or returns null if there are too many.
  Formation* Begin(const Key& key);

  // Sends the unsent joins up the tree, or adds them at the root.
  void Flush(const Key& key, Formation* formation);
  void AddAtRoot(const Key& key, NodeIndex node, const std::vector<Rank>& ranks, uint32_t size);
  // All ranks have joined: the root begins to prepare the team.
  void Start(const Key& key);
  void Prepare(const Key& key, const SubTeamPrepareMessage& message);
  // Prepares the team at this node, which has members. Returns why it cannot be.
  std::optional<Outcome> PrepareHere(const Key& key, Formation* formation, const SubTeamPrepareMessage& message);
  // Fills in the layout and plans of the team, or returns why the planner has to form it.
  std::optional<Outcome> MakeTeam(const Key& key, const SubTeamPrepareMessage& message, CheckedPrepare* prepare,
                                  uint64_t* hash);
  // Answers up the tree, or decides at the root, if nothing is missing.
  void AnswerIfDone(const Key& key);
  // A member cannot take part: the root decides that.
  void Fail(const Key& key, const Outcome& outcome);
  // The decision is known: passes it down, and ends the joins of this node.
  void EndUnformed(const Key& key, const Outcome& outcome);
  void EndFormed(const Key& key);
  void Release(Formation* formation);
  void End(uint64_t request, const Outcome& outcome);
  void BreakAtNeighbors(const Formation& formation, const schedule::FailureReport& why);
  void RequestIds();
  void ReportAll();
  void Report(const Team& team);

  const FormationParts* const parts_;
  PeerLink* const link_;
  const TeamTable* const teams_;
  Formations* const formations_;
  SubTeamHost* const host_;

  std::map<TeamId, Parent> parents_;
  // Lists, since a deque takes memory without elements.
  std::list<TeamId> left_;  // parents that the ranks here have left, in that order
  std::map<Key, Formation> states_;
  std::map<TeamId, Key> forming_;  // teams being prepared, with members here or not
  std::set<TeamId> prepared_;      // teams of this daemon that daemons have prepared, and not committed
  // Labels that came before the Prepare of their team, and the order of the teams.
  std::map<TeamId, std::vector<std::pair<Incarnation, uint32_t>>> early_labels_;
  std::list<TeamId> early_order_;
  TeamIdPool ids_;       // of the cluster `cluster_`
  std::string cluster_;  // UUID; empty: not known
  KnownShapes shapes_;
  std::vector<TeamId> unreported_;  // teams that are committed, in that order, until the planner hears of them
  uint64_t formed_ = 0, passed_on_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_SUB_TEAMS_H_
