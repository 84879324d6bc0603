// SPDX-License-Identifier: Apache-2.0
//
// Forms teams from the joins of their ranks.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_FORMATION_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_FORMATION_H_

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/derived_teams.h"
#include "planner/coordinator/teams/epochs.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A Formation refuses joins, or gathers them and starts the first epoch of a team that is complete.
class Formation {
 public:
  // All outlive this object.
  Formation(State* state, Epochs* epochs, DerivedTeams* derived)
      : state_(state),
        epochs_(epochs),
        derived_(derived),
        joins_(state->options.team_size_max, state->options.formations_max) {}

  void OnJoin(SessionId session, const schedule::JoinTeam& message);
  void OnCancelJoin(SessionId session, const schedule::CancelJoin& message);
  // The session has ended; its daemon may come back and repeat its joins.
  void Drop(SessionId session) { joins_.Drop(session); }
  // Daemons have been found to know decisions that the store does not have: holds complete teams back while not all of
  // them have had time to register since the planner's start.
  void Settle();
  // Does what is due, or some of it if it is much: `heard` is Coordinator::Tick's.
  void Tick(absl::Time heard);
  // What Tick has left for the next turns is due now, and not overdue.
  absl::Time NextDeadline() const { return std::max(joins_.NextDeadline(), ticked_); }
  const JoinTable& joins() const { return joins_; }

 private:
  // Returns the joins of a message, without those that came before on this session.
  std::vector<Join> NewJoins(SessionId session, const schedule::JoinTeam& message);
  // Returns why the joins of a node cannot be in any formation, or nullopt.
  std::optional<schedule::FailureReport> Refusal(const Join& join) const;
  void Act(Gathered gathered);
  void Form(std::vector<Join> joins);
  absl::StatusOr<schedule::TeamLayout> MakeLayout(const std::vector<Join>& joins);
  // Returns why the parent cannot have this sub-team, or nullopt.
  std::optional<schedule::FailureReport> ParentRefusal(const Join& join) const;

  State* const state_;
  Epochs* const epochs_;
  DerivedTeams* const derived_;
  JoinTable joins_;
  absl::Time ticked_ = absl::InfinitePast();  // the last Tick
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_FORMATION_H_
