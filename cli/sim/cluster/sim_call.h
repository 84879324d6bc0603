// SPDX-License-Identifier: Apache-2.0
//
// Describes the call that a simulation runs, as all its nodes see it.
#ifndef COPSE_CLI_SIM_CLUSTER_SIM_CALL_H_
#define COPSE_CLI_SIM_CLUSTER_SIM_CALL_H_

#include <cstdint>

#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/block_program.h"
#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::sim {

// A Charging is the rule by which work takes time.
enum class Charging : uint8_t {
  // The rules of the cost model (docs/reference/cost-model.md) apply.
  kCostModel,
  // Section 3.1 of the MGO paper: a send keeps its node busy for o + (m-1)/b, the message's head arrives after the
  // latency L, and the receiver is busy for its o. Nothing else has a cost, and links have no contention.
  kMgo,
};

// SimCall holds the data that all nodes of a call share.
struct SimCall {
  const schedule::Plan* plan = nullptr;
  const schedule::ShapeIndex* shape = nullptr;
  const schedule::TreeIndex* index = nullptr;
  const planner::TeamCosts* costs = nullptr;
  CallArguments arguments;
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;  // true: frames are charged with their headers, not only for the message's bytes
  uint64_t seed = 1;            // seed of the contributions
  const schedule::BlockProgram* blocks = nullptr;  // for a collective of blocks; else null
  // It holds the metadata of all nodes, each of which writes equal bytes to it. Null: each node has its own.
  uint8_t* shared_notes = nullptr;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_SIM_CALL_H_
