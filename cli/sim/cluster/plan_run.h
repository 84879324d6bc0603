// SPDX-License-Identifier: Apache-2.0
//
// Runs one call of a plan on a simulated cluster: the engines' own code on a topology's links.
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

// Twice the largest tested number; a node takes some 8 KB, and its ranks' buffers.
inline constexpr uint32_t kSimulatedNodesMax = 200'000;

struct PlanRunOptions {
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;
  uint64_t seed = 1;             // seed of the contributions
  schedule::BlockCounts counts;  // for an irregular call (WithCounts)
  // Called at intervals with the number of ranks that are done; may be empty.
  std::function<void(uint32_t done, uint32_t ranks)> progress;
};

// DaemonUse is the resources of one daemon in the call.
struct DaemonUse {
  uint32_t connections = 0;     // nodes with which it exchanged packets
  uint64_t staging_bytes = 0;   // maximum of eager buffers, scratch and frames
  uint64_t reserved_bytes = 0;  // bound of eager buffers and scratch
  uint64_t notes_bytes = 0;     // counts from the metadata exchange
  uint64_t list_bytes = 0;      // maximum of copy lists
};

struct PlanRunResult {
  std::vector<int64_t> completion_ns;  // by rank
  int64_t total_ns = 0;                // that of the slowest rank
  uint64_t packets = 0;                // records with data or arrivals received by engines: packets and puts
  uint64_t frames = 0, bytes = 0;      // sent; bytes with headers
  uint64_t descriptors = 0;            // number run
  uint64_t events = 0;                 // events of the simulator
  uint64_t segments = 1;               // segments of a call of blocks
  uint64_t trace_hash = 0;             // equal for equal runs
  // The daemon with the maximum, and the root's node (node 0 for a call without a root).
  DaemonUse most, root;
  double setup_seconds = 0;  // wall time to make the engines and post the call
  double run_seconds = 0;    // wall time to run it
};

// Verifies the plan, runs one call of it in which all ranks post at time 0, and checks every rank's data. All
// collectives; messages of blocks may have any length, others at most kMessageBytesMax.
//
// Input:   shape.node_count == costs.node_count(), at most kSimulatedNodesMax. Node v of the plan is node v of `costs`.
// Output:  deterministic except for the wall times.
// Model:   each node is an engine with one port, opened as by the daemon, and one thread that is charged for the
//          engine's work (SimNode); daemons' own machinery (teams, epochs, heartbeats, clients' queues) is left out,
//          so a node takes some 8 KB. All nodes share the data that daemons derive from a team of many ranks: order,
//          tree and counts; in a very large team whose daemons would all receive the same counts, they also share the
//          memory to which these are written.
// Errors:  INVALID_ARGUMENT from VerifyPlan and CheckShape, or if arguments, shape and costs do not fit the plan;
//          RESOURCE_EXHAUSTED for too many nodes, or from Engine::OpenPort; INTERNAL if the call does not end at every
//          rank, or with wrong data.
// Cost:    O(nodes + packets log packets); 100,000 nodes take some seconds.
absl::StatusOr<PlanRunResult> RunPlan(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      const planner::TeamCosts& costs, const CallArguments& arguments,
                                      const PlanRunOptions& options = {});

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_PLAN_RUN_H_
