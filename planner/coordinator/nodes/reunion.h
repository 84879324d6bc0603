// SPDX-License-Identifier: Apache-2.0
//
// Reconciles the teams that a daemon still has with those that the coordinator knows.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_REUNION_H_
#define COPSE_PLANNER_COORDINATOR_NODES_REUNION_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/teams/better_plans.h"
#include "planner/coordinator/teams/derived_teams.h"
#include "planner/coordinator/teams/ends.h"
#include "planner/coordinator/teams/epochs.h"
#include "protocol/control.h"

namespace copse::coordinator {

// What a daemon's report of a team is to the coordinator.
enum class Standing {
  kWelcome,    // the team is known, undecided, or to be adopted
  kForgotten,  // the team has ended for this node
  kUnfit       // the report is not consistent, or the id is another team's: it is ignored
};

// A Reunion believes the daemons: a team that they run and the coordinator does not know is adopted, and an epoch that
// they run and the store does not have is taken over. What the daemons cannot have, the store decides.
class Reunion {
 public:
  // All outlive this object.
  Reunion(State* state, Epochs* epochs, Ends* ends, DerivedTeams* derived, BetterPlans* better_plans)
      : state_(state), epochs_(epochs), ends_(ends), derived_(derived), better_plans_(better_plans) {}

  Standing StandingOf(const schedule::RunningTeam& running, const schedule::NodeAnnouncement& node);
  // Takes a report that is welcome, of a node that has just registered.
  void TakeUp(Node& node, const schedule::RunningTeam& running);
  // Handles a member that has registered again without listing the team: it has left the team.
  void NotListed(Team& team, uint32_t member);
  void Reconcile(Team& team, uint32_t member, const schedule::RunningTeam& running);
  // Adopts a running team that this coordinator does not know, from the report of daemon `by`. If `has_all_reports`,
  // the other daemons that are connected have reported all their teams, so those without this one have left it.
  void Adopt(const schedule::RunningTeam& running, const std::string& by, bool has_all_reports = true);

  // The daemon has received a Commit from its neighbors: a team that is not known is adopted. Or it has left a team.
  void OnCommitReply(const Node& node, const schedule::CommitReply& message);
  void OnLeaveTeam(const Node& node, const schedule::LeaveTeam& message);
  void OnTeamPlans(const Node& node, const schedule::TeamPlans& message);
  // Settles undecided teams once all their daemons are connected, or after forget_records: a team that a daemon runs
  // continues on all, another one is aborted. The store cannot decide: it would not have these teams.
  void SettleUndecided();
  bool has_undecided() const { return !undecided_.empty(); }
  // Adds a node that is away if the member's name is unknown.
  Node& NodeOfMember(const Team& team, uint32_t member);

 private:
  // An Undecided is a daemon's report of a team that it has prepared and does not run yet.
  struct Undecided {
    schedule::RunningTeam running;
    absl::Time since;
  };
  using Reports = std::map<std::string, Undecided>;  // by the nodes' names

  // Keeps the report of an undecided team, or answers it.
  void TakeUndecided(const Node& node, const schedule::RunningTeam& running);
  void Settle(TeamId id, const Reports& reports);
  // Adopts the epoch that a daemon runs and that the store does not have, since it was lost or is older than the team.
  void CatchUp(Team& team, const schedule::RunningTeam& running);
  // Returns whether a member that has come back has no epoch after this one: it has given up what it had prepared.
  static bool AnyStaysAt(const Team& team, EpochId epoch);
  // Takes the plans of the team's epoch, which the store does not have. Those that are not the recorded ones, or not
  // named, are verified before they are shown.
  void TakePlans(Team& team, const schedule::RunningTeam& running);
  // A daemon runs an epoch that is not recorded, although each is recorded before it is told: the store is a copy from
  // before. From now on nothing counts as undecided because the store does not have it.
  void DistrustStore(const std::string& shown_by);
  // Returns whether all daemons that might run a team are connected, or will not come back.
  bool AllAreHeard(const schedule::TeamLayout& layout) const;
  void AbortForGood(const schedule::TeamNode& who, const schedule::Abort& abort);

  State* const state_;
  Epochs* const epochs_;
  Ends* const ends_;
  DerivedTeams* const derived_;
  BetterPlans* const better_plans_;
  std::map<TeamId, Reports> undecided_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_REUNION_H_
