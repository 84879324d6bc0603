// SPDX-License-Identifier: Apache-2.0
//
// Forms sub-teams among the fake daemons of their parent, and reports them to the planner when there is one.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_FAKE_SUB_TEAMS_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_FAKE_SUB_TEAMS_H_

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "planner/coordinator/random/history.h"
#include "planner/coordinator/random/peers.h"
#include "protocol/control.h"

namespace copse::coordinator {

class FakeDaemon;
struct World;

// FakeSubTeams is one daemon's part, as daemon/core/sub_teams has it, but for the tree: the root of a parent, its first
// node, asks the members itself, and no ranks join. What the daemons tell the planner, and when, is the same.
class FakeSubTeams {
 public:
  // Both must outlive this object.
  FakeSubTeams(World* world, FakeDaemon* daemon) : world_(world), daemon_(daemon) {}

  // --- Neighbors ---
  // Begins to form a duplicate or a part of a random team, if this daemon is the root of one and has ids.
  void Begin(Prng& prng);
  void On(const NodeKey& from, const SubTeamMessage& message);
  // A neighbor that runs the prepared team has answered this daemon's question.
  void CommittedByNeighbor(TeamId id) { Commit(id); }
  // The connection to another daemon was reset.
  void NoticeDeath(const NodeKey& dead);

  // --- The daemon's teams ---
  bool IsForming(TeamId id) const { return forming_.contains(id); }
  // Returns whether a sub-team of the team is being formed with this daemon's help: no rank leaves the team meanwhile.
  bool IsFormingFrom(TeamId parent) const;
  // The team, which is being formed, is broken.
  void Broken(TeamId id);
  // The team is broken: so is what is being formed from it, and the planner need not hear of the team any more. A
  // sub-team is broken at its other members.
  void OnBroken(const schedule::TeamLayout& layout);
  void OnLeft(TeamId id) { std::erase(unreported_, id); }

  // --- The planner ---
  void OnRegistered();
  void OnStreamLost() { is_asked_ = false; }
  void OnIds(const schedule::TeamIds& ids);
  // The planner's cluster is another one.
  void ForgetIds() { ids_.clear(); }
  // Reports all teams if this one is unreported: another message about it is sent next.
  void ReportFormed(TeamId id);
  // Returns whether the planner is there, and has not heard of the team.
  bool IsUnreported(TeamId id) const;
  void Tick();

 private:
  using Kind = SubTeamMessage::Kind;
  // A Rooted is a team whose root this daemon is, undecided.
  struct Rooted {
    schedule::TeamLayout layout;
    std::set<NodeKey> unanswered;
  };

  std::vector<TeamId> Parents() const;
  schedule::TeamLayout PartOf(const schedule::TeamLayout& parent, Prng& prng) const;
  static std::vector<std::string> PlansFor(const schedule::TeamLayout& layout, TeamId id);
  bool Accepts(const SubTeamMessage& prepare) const;
  void Prepare(const NodeKey& root, const SubTeamMessage& message);
  void Answer(const NodeKey& from, const SubTeamMessage& answer);
  void Decide(TeamId id, Kind decision);
  void Commit(TeamId id);
  void Drop(TeamId id);
  void SendTo(const NodeKey& to, Kind kind, TeamId id);
  void SendToOthers(const schedule::TeamLayout& layout, Kind kind);
  std::vector<TeamId> FormingFrom(TeamId parent) const;

  void Report();
  schedule::TeamFormed ReportOf(TeamId id) const;
  void AskForIds();

  World* const world_;
  FakeDaemon* const daemon_;
  std::map<TeamId, Rooted> rooted_;
  std::map<TeamId, NodeKey> forming_;  // prepared here, with their roots
  std::set<TeamId> broken_;            // by their members' messages, which may come before kPrepare
  std::vector<TeamId> unreported_;     // in the order of their commits
  std::deque<TeamId> ids_;
  bool is_asked_ = false;  // ids have been requested on this stream
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_FAKE_SUB_TEAMS_H_
