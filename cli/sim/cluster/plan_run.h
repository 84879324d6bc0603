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
#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/block_program.h"
#include "schedule/plan.h"

namespace copse::sim {

// Twice what was tried. A node takes some 8 KB, and its ranks' buffers.
inline constexpr uint32_t kSimulatedNodesMax = 200'000;

struct PlanRunOptions {
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;
  uint64_t seed = 1;             // of the contributions
  schedule::BlockCounts counts;  // of an irregular call (WithCounts)
  // Called now and then with what is done of all ranks; may be empty.
  std::function<void(uint32_t done, uint32_t ranks)> progress;
};

// What a daemon had for the call.
struct DaemonUse {
  uint32_t connections = 0;     // nodes that it exchanged packets with
  uint64_t staging_bytes = 0;   // cells, scratch and frames, at their most
  uint64_t reserved_bytes = 0;  // what cells and scratch are bounded by
  uint64_t notes_bytes = 0;     // counts that were told
  uint64_t list_bytes = 0;      // lists of copies, at their most
};

struct PlanRunResult {
  std::vector<int64_t> completion_ns;  // by rank
  int64_t total_ns = 0;                // of the slowest
  uint64_t packets = 0;                // records with data or arrivals that engines took in: packets and puts
  uint64_t frames = 0, bytes = 0;      // sent; bytes with headers
  uint64_t descriptors = 0;            // run
  uint64_t events = 0;                 // of the simulator
  uint64_t segments = 1;               // that a call of blocks was cut into
  uint64_t trace_hash = 0;             // equal for equal runs
  // Of the daemon with most, and of the root's node (of a call without one: of node 0).
  DaemonUse most, root;
  double setup_seconds = 0;  // of real time: to make the engines and post the call
  double run_seconds = 0;    // of real time: to run it
};

// Verifies the plan, runs one call of it in which all ranks post at time 0, and checks every rank's data. All
// collectives; messages of blocks may have any length, others at most kMessageBytesMax.
//
// Input:   shape.node_count == costs.node_count(), at most kSimulatedNodesMax. Node v of the plan is node v of `costs`.
// Output:  deterministic but for the real times.
// Model:   each node is an engine with one port, as the daemon would open it, and one thread that is charged for what
//          the engine does (SimNode); daemons' own machinery (teams, epochs, heartbeats, clients' queues) is left out,
//          so a node takes some 8 KB. What the daemons know of a team of many ranks, order and tree and counts, is
//          there once for all of them; where they would all be told the same counts, in a team of very many, the
//          memory that these are written to is, too.
// Errors:  INVALID_ARGUMENT as VerifyPlan and CheckShape, or if arguments, shape and costs do not fit the plan;
//          RESOURCE_EXHAUSTED for too many nodes, or as Engine::OpenPort; INTERNAL if the call does not end at every
//          rank, or with wrong data.
// Cost:    O(nodes + packets log packets); 100,000 nodes take some seconds.
absl::StatusOr<PlanRunResult> RunPlan(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      const planner::TeamCosts& costs, const CallArguments& arguments,
                                      const PlanRunOptions& options = {});

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_PLAN_RUN_H_
