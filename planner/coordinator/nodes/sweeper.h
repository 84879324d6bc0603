// SPDX-License-Identifier: Apache-2.0
//
// Drops the records of teams and nodes that are away for long, and breaks teams whose members wait for those.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_SWEEPER_H_
#define COPSE_PLANNER_COORDINATOR_NODES_SWEEPER_H_

#include <cstdint>

#include "planner/coordinator/nodes/reunion.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/teams/ends.h"

namespace copse::coordinator {

class Sweeper {
 public:
  // All outlive this object.
  Sweeper(State* state, Ends* ends, Reunion* reunion) : state_(state), ends_(ends), reunion_(reunion) {}

  // Is State::sweep's function, and asks for the next sweep as long as anything is away or undecided.
  void Run();

 private:
  // Returns whether the member has been away for forget_records.
  bool IsAwayForLong(const Team& team, uint32_t member) const;
  // Returns whether all members have. The record is then dropped without notice: if a daemon comes back with the team,
  // the team is adopted.
  bool IsAbandoned(const Team& team) const;
  bool MayComeBack(const Team& team) const;  // returns whether a member is away

  State* const state_;
  Ends* const ends_;
  Reunion* const reunion_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_SWEEPER_H_
