// SPDX-License-Identifier: Apache-2.0
//
// Derived teams: plans of a team for collectives beyond the common ones, made when a daemon requests them. They form,
// switch epochs and end by the rules of teams; this file has the differences.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_DERIVED_TEAMS_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_DERIVED_TEAMS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/timer_queue.h"
#include "planner/coordinator/teams/ends.h"
#include "planner/coordinator/teams/epochs.h"
#include "protocol/control.h"

namespace copse::coordinator {

// All nodes must agree on which attempts failed, since each failed attempt fails one call of every rank. So attempts
// are numbered: a node does not prepare an attempt that it has counted as failed, and a coordinator that knows of fewer
// failed attempts than a daemon adopts the daemon's count.
class DerivedTeams {
 public:
  // All outlive this object.
  DerivedTeams(State* state, Epochs* epochs, Ends* ends) : state_(state), epochs_(epochs), ends_(ends) {}

  void OnJoin(Join join);
  // The session has ended; its daemon may come back and repeat its joins.
  void Drop(SessionId session);
  // Forms the derived teams of `parent` that wait, since one of its daemons is known to run it now.
  void FormThoseOf(TeamId parent);

  // Notes a team that was stored or adopted, if it is a derived one.
  void Note(const schedule::TeamLayout& layout);
  // Counts the abort of a derived team's first epoch as a failed attempt, unless `again`; then `unprepared`, the joins
  // of an attempt that no daemon was told, wait for the next one.
  void OnAborted(const schedule::TeamLayout& layout, const schedule::FailureReport& why, bool again,
                 std::vector<Join> unprepared);
  // Follow a team: its derived teams lose the member, break or are forgotten with it, and it breaks with them.
  void OnMemberLeft(TeamId team, uint32_t member);
  void OnBroken(const schedule::TeamLayout& layout, const schedule::FailureReport& why, const Node* reporter);
  void OnForgotten(const schedule::TeamLayout& layout);

  // Returns the team's derived team for the family, or nullopt if there is none.
  std::optional<TeamId> Find(TeamId team, Family family) const;

 private:
  // The state of a derived team that a daemon has requested. It exists as long as the parent team.
  struct DerivedTeam {
    TeamId id{0};                 // 0: neither existing nor being formed
    uint64_t failed = 0;          // number of failed attempts
    schedule::FailureReport why;  // reason of the last failed attempt
    std::vector<Join> waiting;    // joins pending while nodes are away
    TimerId timer;                // retries the formation
  };
  using Key = std::pair<TeamId, Family>;

  // Returns the reason for which the join is refused, or nullopt if the parent team's daemon may send it.
  std::optional<schedule::FailureReport> Refusal(const Join& join) const;
  void Form(const Key& key);
  absl::StatusOr<schedule::TeamLayout> MakeLayout(const schedule::TeamLayout& parent, const Key& key);
  void Fail(const Key& key, const schedule::FailureReport& why);
  std::vector<TeamId> IdsOf(TeamId team) const;

  State* const state_;
  Epochs* const epochs_;
  Ends* const ends_;
  std::map<Key, DerivedTeam> derived_;  // by parent team and family of collectives
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_DERIVED_TEAMS_H_
