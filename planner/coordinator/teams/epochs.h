// SPDX-License-Identifier: Apache-2.0
//
// Makes, prepares, decides, commits and aborts the epochs of teams.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_EPOCHS_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_EPOCHS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/teams/team_listener.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::coordinator {

// Returns the failure of what the store has no room for.
schedule::FailureReport NotRecorded(const absl::Status& why);

// An Epochs leads teams from one epoch to the next by two-phase commit: a change is prepared by all members, decided
// when all have accepted, stored, and then committed by each.
//
// Invariant: a team's epoch is recorded in the store before any Commit of it is sent (sub-teams are not recorded); a
// recorded epoch is never aborted while the team exists; an aborted epoch is never recorded, and its number is never
// used again; a daemon receives Commit only if all daemons of the team accepted.
class Epochs {
 public:
  Epochs(State* state, TeamListener* listener) : state_(state), listener_(listener) {}  // both outlive this object

  // Makes a team that is not known yet, with the joins that it answers. `last_failure`: of the attempt before.
  void StartFirstEpoch(schedule::TeamLayout layout, std::vector<Join> joins, schedule::FailureReport last_failure = {});
  // Calls `done` with encoded plans, which have ids, maybe later.
  using EncodedPlansDone = std::function<void(absl::StatusOr<std::vector<std::string>>)>;
  void MakePlans(const schedule::TeamLayout& layout, const PlanOptions& options, EncodedPlansDone done);
  // Prepares a team that has a decided epoch and no change for the next one. `done`: Change::done.
  void StartSwitch(Team& team, std::vector<std::string> plans, std::function<void(const absl::Status&)> done);
  // Aborts the change, which ends a team that has no other epoch. If `again`, the obstacle is transient, and such a
  // team may be requested again without a failure.
  void AbortChange(Team& team, const schedule::FailureReport& why, bool again = false);

  // The node has told its address, unless `why` says that it has none.
  void OnAddress(const Node& node, const schedule::FailureReport& why);
  void OnPrepareReply(Node& node, const schedule::PrepareReply& message);
  void OnCommitReply(Node& node, const schedule::CommitReply& message);
  void OnEpochQuery(Node& node, const schedule::EpochQuery& message);
  void SendCommit(Team& team, uint32_t member);
  // Calls Team::settled if all members have committed.
  void CheckSettled(Team& team);
  // Aborts prepared epochs that no member runs, once all members have reported: these epochs were never decided.
  void SettlePrepared(Team& team);

 private:
  // Takes a step of the team's change, in a turn of its own if the team is large.
  void Step(Team& team, void (Epochs::*step)(Team&));
  Team* Changing(TeamId id, EpochId epoch);  // null: the team has another change by now, or none
  void MakeFirstPlans(Team& team);
  // Requires a change that has plans. Sends it once all daemons have addresses.
  void SendPrepare(Team& team);
  void AwaitAddresses(Team& team);
  void SendPrepareNow(Team& team);
  void OnPrepareTimeout(TeamId id, absl::Duration timeout);
  absl::StatusOr<std::vector<std::string>> Encode(std::vector<schedule::Plan> plans);  // with new ids
  // Returns the joins of each member's ranks, by member; they point into `joins`.
  std::vector<std::vector<const Join*>> JoinsByMember(const Team& team, const std::vector<Join>& joins) const;
  // Asks a member that has committed, if the planner was started again before any member had, and again until there is
  // an answer: another one if it has left.
  void AskForPlans(Team& team, const Node& node);
  void AskAnyForPlans(TeamId id);
  void Label(Team& team);  // requires that all members have accepted; Decide follows
  void Decide(Team& team);
  void OnDecisionStored(Team& team);
  // Takes back the decision that the store has no room for.
  void Undecide(Team& team, const absl::Status& why);

  State* const state_;
  TeamListener* const listener_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_EPOCHS_H_
