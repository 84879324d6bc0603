// SPDX-License-Identifier: Apache-2.0
//
// Handles reports of nodes about silent neighbors, and breaks the teams of nodes that are cut off.
#ifndef COPSE_PLANNER_COORDINATOR_NODES_SILENCE_H_
#define COPSE_PLANNER_COORDINATOR_NODES_SILENCE_H_

#include "planner/coordinator/nodes/inquiry.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/teams/ends.h"
#include "protocol/control.h"

namespace copse::coordinator {

class Silence {
 public:
  Silence(State* state, Ends* ends) : state_(state), ends_(ends) {}  // both outlive this object

  void OnNeighborSilent(const Node& node, const schedule::NeighborSilent& message);

 private:
  void Judge(const DaemonPair& link);
  void Break(Team& team, const LinkVerdict& verdict);

  State* const state_;
  Ends* const ends_;
  Inquiry inquiry_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_NODES_SILENCE_H_
