// SPDX-License-Identifier: Apache-2.0
//
// Finds teams that have ended on one side only, by the lists of teams that daemons send.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_LOST_ENDS_H_
#define COPSE_PLANNER_COORDINATOR_NODES_LOST_ENDS_H_

#include "base/ids.h"
#include "planner/coordinator/nodes/reunion.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A LostEnds compares a daemon's list with the coordinator's: a team that the daemon does not have any more has been
// left by it, and a team that the coordinator has ended is ended at the daemon. Messages cross each other, so only what
// differs for kPatience counts. Each difference is settled once a stream.
class LostEnds {
 public:
  // Both outlive this object.
  LostEnds(State* state, Reunion* reunion) : state_(state), reunion_(reunion) {}

  void OnTeamsHeld(Node& node, const schedule::TeamsHeld& message);

 private:
  void MarkLeft(const Node& node, TeamId id);
  void End(const Node& node, TeamId id);

  State* const state_;
  Reunion* const reunion_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_LOST_ENDS_H_
