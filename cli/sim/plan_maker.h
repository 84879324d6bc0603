// SPDX-License-Identifier: Apache-2.0
//
// Teams and plans for the verbs: all nodes of a cluster, and algorithms by name.
#ifndef COPSE_CLI_SIM_PLAN_MAKER_H_
#define COPSE_CLI_SIM_PLAN_MAKER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "planner/algorithms/block_costs.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/trees/block_tree.h"
#include "planner/pricing/team_costs.h"
#include "planner/topology/topology.h"
#include "schedule/plan.h"

namespace copse::simcli {

// SimTeam is a team with the same number of ranks on each of its nodes: rank r lives on node r / ppn.
struct SimTeam {
  schedule::TeamShape shape;
  planner::TeamCosts costs;  // points to the topology
};
// Makes a team of the named nodes; costs are the topology's. Errors: INVALID_ARGUMENT for ranks_per_node out of range;
// those of TeamCosts::Create.
absl::StatusOr<SimTeam> MakeTeam(const topology::Topology& topology, absl::Span<const std::string> node_names,
                                 uint32_t ranks_per_node);
std::vector<std::string> AllNodeNames(const topology::Topology& topology);

// Returns a call of `bytes` bytes: sums of the widest unsigned integers whose size divides `bytes`.
CallArguments CallOf(Collective collective, uint64_t bytes, uint32_t root);

struct PlanRequest {
  std::string algorithm;
  CallArguments call;          // for an irregular collective: with its mean block as count
  uint32_t segment_bytes = 0;  // 0: kSegmentBytesUsual
};
// Makes a plan for the call, rooted at its root's node; for an irregular collective, its regular form's plan.
// Algorithms by name: "flat", "chain", "binomial", "knomial-K", "kary-K", "dissemination", "recursive-doubling",
// "ring", "bruck" and "pairwise" take nodes in the topology's order, near ones together, for scans in the order of
// ranks; all others are those of planner/algorithms/trees/broadcast_algorithms.h, for the message's size. Errors:
// INVALID_ARGUMENT for an unknown name, an algorithm that cannot carry the collective, a root or size out of range;
// those of the algorithm.
absl::StatusOr<schedule::Plan> MakePlan(const PlanRequest& request, const SimTeam& team);

// Makes a plan with the segment size of least price among those that the planner would compare; beyond 2000 nodes with
// the first of them.
absl::StatusOr<schedule::Plan> MakeCheapestPlan(const PlanRequest& request, const SimTeam& team);

// ChosenPlan is the planner's choice for this call, with the reason in one line.
struct ChosenPlan {
  schedule::Plan plan;
  std::string why;
};
// Errors: INVALID_ARGUMENT for a size or root out of range; those of the planner.
absl::StatusOr<ChosenPlan> ChoosePlan(const CallArguments& call, const SimTeam& team,
                                      absl::Span<const std::string> node_names);

// These give the same trees as a broadcast's edges; messages may be of any size.
absl::StatusOr<planner::BroadcastCosts> BroadcastCostsOf(const SimTeam& team, uint64_t bytes);
absl::StatusOr<planner::BroadcastTree> MakeBroadcast(const std::string& algorithm, const SimTeam& team,
                                                     const planner::BroadcastCosts& costs, uint32_t root_node);

// These serve scatter, gather and allgather, by the same names; a tree over nodes in the topology's order is used both
// ways.
absl::StatusOr<planner::BlockCosts> BlockCostsOf(const SimTeam& team, uint64_t block_bytes);
absl::StatusOr<planner::BlockTrees> MakeBlockTrees(const std::string& algorithm, const SimTeam& team,
                                                   const planner::BlockCosts& costs,
                                                   planner::BlockCollective collective, uint32_t root_node);
// For the `others` of CollectiveOption.
inline constexpr char kBlockCollectives[] = " scatter gather allgather";

// Returns the completion of a broadcast along the plan's tree by section 3.1 of the MGO paper.
absl::StatusOr<int64_t> ReplayNs(const schedule::Plan& plan, const SimTeam& team, uint32_t root_node, uint64_t bytes);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PLAN_MAKER_H_
