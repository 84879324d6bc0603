// SPDX-License-Identifier: Apache-2.0
//
// Makes teams and plans for the verbs: a team of a cluster's nodes, and plans by the name of an algorithm.
#ifndef COPSE_CLI_SIM_PLAN_MAKER_H_
#define COPSE_CLI_SIM_PLAN_MAKER_H_

#include <cstdint>
#include <string>
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

// A SimTeam is a team with equally many ranks, ppn, on each of its nodes: rank r is on node r / ppn. The topology must
// outlive it.
struct SimTeam {
  schedule::TeamShape shape;
  planner::TeamCosts costs;  // refers to the topology
};
// Makes a team of the named nodes with the costs of the topology, which must outlive the team. Errors: INVALID_ARGUMENT
// for ranks_per_node out of range; those of TeamCosts::Create.
absl::StatusOr<SimTeam> MakeTeam(const topology::Topology& topology, absl::Span<const std::string> node_names,
                                 uint32_t ranks_per_node);
std::vector<std::string> AllNodeNames(const topology::Topology& topology);

// Returns a call of `bytes` bytes: a sum of 64-bit or 32-bit unsigned integers if their size divides `bytes`, else of
// bytes. A barrier has none. `root` is ignored for a collective without root.
CallArguments CallOf(Collective collective, uint64_t bytes, uint32_t root);

struct PlanRequest {
  std::string algorithm;
  CallArguments call;          // `count` of an irregular collective is the length of the mean block
  uint32_t segment_bytes = 0;  // 0: kSegmentBytesUsual
};
// Makes a plan for the call, rooted at its root's node; for an irregular collective, its regular form's plan. "flat",
// "chain", "binomial", "knomial-K", "kary-K", "dissemination", "recursive-doubling", "ring", "bruck", "doubling",
// "rotated-binomial" and "pairwise" take nodes in the topology's order, near ones together, or in the order of ranks
// for scans. "hierarchical" and the names of planner/algorithms/trees/broadcast_algorithms.h are built with the costs
// of the message's size. Errors: INVALID_ARGUMENT for an unknown name, an algorithm that cannot carry the collective,
// or a root, size or segment size out of range; those of the algorithm.
absl::StatusOr<schedule::Plan> MakePlan(const PlanRequest& request, const SimTeam& team);

// Makes a plan as MakePlan does, with the segment size of least price among those that the planner would compare, or
// above 2000 nodes with the first of these. Ignores request.segment_bytes. Errors: those of MakePlan and
// planner::PredictedNs.
absl::StatusOr<schedule::Plan> MakeCheapestPlan(const PlanRequest& request, const SimTeam& team);

// A ChosenPlan is the planner's choice for a call, with the reason in one line.
struct ChosenPlan {
  schedule::Plan plan;
  std::string why;
};
// Returns the plan that the planner would select for the call. Errors: INVALID_ARGUMENT for a size or root out of
// range; those of the planner.
absl::StatusOr<ChosenPlan> ChoosePlan(const CallArguments& call, const SimTeam& team,
                                      absl::Span<const std::string> node_names);

// Returns the costs of a broadcast of `bytes` bytes, which may exceed the limit of a message.
absl::StatusOr<planner::BroadcastCosts> BroadcastCostsOf(const SimTeam& team, uint64_t bytes);
// Builds the tree of an algorithm that MakePlan knows, as edges in place of a plan. Errors: INVALID_ARGUMENT for an
// unknown name, "hierarchical", or an algorithm that is not a tree; those of the algorithm.
absl::StatusOr<planner::BroadcastTree> MakeBroadcast(const std::string& algorithm, const SimTeam& team,
                                                     const planner::BroadcastCosts& costs, uint32_t root_node);

// Returns the costs of blocks of `block_bytes` bytes.
absl::StatusOr<planner::BlockCosts> BlockCostsOf(const SimTeam& team, uint64_t block_bytes);
// Builds the trees of a scatter, gather or allgather by the names of MakeBroadcast, except "optimal". A tree in the
// topology's order carries blocks both to and from its root.
absl::StatusOr<planner::BlockTrees> MakeBlockTrees(const std::string& algorithm, const SimTeam& team,
                                                   const planner::BlockCosts& costs,
                                                   planner::BlockCollective collective, uint32_t root_node);
// The names of these collectives are passed to CollectiveOption as `others`.
inline constexpr char kBlockCollectives[] = " scatter gather allgather";

// Returns the completion time, in ns, of a broadcast along the plan's tree by section 3.1 of the MGO paper. `plan` must
// be a tree plan.
absl::StatusOr<int64_t> ReplayNs(const schedule::Plan& plan, const SimTeam& team, uint32_t root_node, uint64_t bytes);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PLAN_MAKER_H_
