// SPDX-License-Identifier: Apache-2.0
//
// Runs one call of a plan on a simulated cluster: the daemons' engines, connected by the links of a topology.
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

// The limit is twice the largest number of nodes that tests run. A node takes some 8 KB and its ranks' buffers.
inline constexpr uint32_t kSimulatedNodesMax = 200'000;

struct PlanRunOptions {
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;
  uint64_t seed = 1;             // seed of the contributions
  schedule::BlockCounts counts;  // for an irregular call (WithCounts)
  // It is called after every 1024 ranks, and at the end, with the number of ranks that are done. It may be empty.
  std::function<void(uint32_t done, uint32_t ranks)> progress;
};

// A DaemonUse holds the resources that one daemon uses for the call.
struct DaemonUse {
  uint32_t connections = 0;     // nodes with which it exchanged packets
  uint64_t staging_bytes = 0;   // eager buffers, scratch and frames: maximum in use
  uint64_t reserved_bytes = 0;  // eager buffers and scratch: upper bound
  uint64_t notes_bytes = 0;     // counts from the metadata exchange
  uint64_t list_bytes = 0;      // copy lists: maximum in use
};

struct PlanRunResult {
  std::vector<int64_t> completion_ns;  // by rank
  int64_t total_ns = 0;                // maximum of completion_ns
  uint64_t packets = 0;                // records with data or arrivals received by engines: packets and puts
  uint64_t frames = 0, bytes = 0;      // frames sent and their bytes, with headers
  uint64_t descriptors = 0;            // number of descriptors run
  uint64_t events = 0;                 // number of the simulator's events
  uint64_t segments = 1;               // number of segments of a call of blocks; else 1
  uint64_t trace_hash = 0;             // equal for equal runs
  // `most` is the maximum of each value over all daemons, `root` has those of the root's daemon (of node 0's without a
  // root).
  DaemonUse most, root;
  double setup_seconds = 0;  // wall time to make and connect the engines
  double run_seconds = 0;    // wall time to run the call
};

// Verifies the plan, runs one call of it in which all ranks post at time 0, and checks every rank's data. Supports all
// collectives; blocks may have any length, other messages at most kMessageBytesMax.
//
// Input:   shape.node_count == costs.node_count(), at most kSimulatedNodesMax. Node v of the plan is node v of `costs`.
// Output:  deterministic except for the wall times.
// Model:   each node is an engine with one port, opened as by the daemon, and one thread that is charged for the
//          engine's work (SimNode). The rest of a daemon (teams, epochs, heartbeats, clients' queues) is left out, so a
//          node takes some 8 KB. All nodes share the data that daemons compute for a team: order, tree and counts. In a
//          very large team whose daemons would all receive equal counts, nodes also share the memory for these.
// Errors:  INVALID_ARGUMENT from VerifyPlan and CheckShape, or if arguments, shape and costs do not fit the plan;
//          RESOURCE_EXHAUSTED for too many nodes, or from Engine::OpenPort; INTERNAL if the call does not end at every
//          rank, or with wrong data.
// Cost:    O(nodes + packets log packets); 100,000 nodes take some seconds.
absl::StatusOr<PlanRunResult> RunPlan(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                      const planner::TeamCosts& costs, const CallArguments& arguments,
                                      const PlanRunOptions& options = {});

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_PLAN_RUN_H_
