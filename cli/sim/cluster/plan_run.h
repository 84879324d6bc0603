// SPDX-License-Identifier: Apache-2.0
//
// One call of a plan on a simulated cluster: the engines' own code on a topology's links.
#ifndef COPSE_CLI_SIM_CLUSTER_PLAN_RUN_H_
#define COPSE_CLI_SIM_CLUSTER_PLAN_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/cluster/sim_node.h"
#include "planner/schedule/collective.h"
#include "planner/schedule/plan.h"
#include "planner/team_costs.h"

namespace copse::sim {

// Twice what was tried. A node takes some 8 KB, and its ranks' buffers.
inline constexpr uint32_t kSimulatedNodesMax = 200'000;

struct PlanRunOptions {
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;
  uint64_t seed = 1;  // of the contributions
  // Called now and then with what is done of all ranks; may be empty.
  std::function<void(uint32_t done, uint32_t ranks)> progress;
};

struct PlanRunResult {
  std::vector<int64_t> completion_ns;  // by rank
  int64_t total_ns = 0;                // of the slowest
  uint64_t packets = 0;                // records with data or arrivals that engines took in: packets and puts
  uint64_t frames = 0, bytes = 0;      // sent; bytes with headers
  uint64_t descriptors = 0;            // run
  uint64_t events = 0;                 // of the simulator
  uint64_t trace_hash = 0;             // equal for equal runs
  double setup_seconds = 0;            // of real time: to make the engines and post the call
  double run_seconds = 0;              // of real time: to run it
};

// Verifies the plan, runs one call of it in which all ranks post at time 0, and checks every rank's data.
//
// Input:   shape.node_count == costs.node_count(), at most kSimulatedNodesMax. Node v of the plan is node v of `costs`.
// Output:  deterministic but for the real times.
// Model:   each node is an engine with one port, as the daemon would open it, and one thread that is charged for what
//          the engine does (SimNode); daemons' own machinery (teams, epochs, heartbeats, clients' queues) is left out,
//          so a node takes some 8 KB.
// Errors:  INVALID_ARGUMENT as VerifyPlan and CheckShape, or if arguments, shape and costs do not fit the plan;
//          RESOURCE_EXHAUSTED for too many nodes, or as Engine::OpenPort; INTERNAL if the call does not end at every
//          rank, or with wrong data.
// Cost:    O(nodes + packets log packets); 100,000 nodes take some seconds.
absl::StatusOr<PlanRunResult> RunPlan(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      const planner::TeamCosts& costs, const schedule::CallArguments& arguments,
                                      const PlanRunOptions& options = {});

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_PLAN_RUN_H_
