// SPDX-License-Identifier: Apache-2.0
//
// What a gather, scatter, allgather, reduce_scatter, scan or alltoall takes, by closed formulas.
#ifndef COPSE_PLANNER_PRICING_BLOCK_PRICE_H_
#define COPSE_PLANNER_PRICING_BLOCK_PRICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// When the last rank has its result, all posting at 0: without segments, contention for links or cores. A node counts
// as one block of all its ranks, as many as the node with most of them has.
//
// - trees: gather, scatter, allgather by algorithms/block_tree.h; reduce_scatter as a reduce of all blocks, then a
//   scatter; a scan as an allgather;
// - rings of allgather and reduce_scatter: n - 1 steps of one block, each as long as the dearest link's; of a scan: the
//   links one after the other;
// - bruck and doubling: a step a distance, of min(distance, n - distance) blocks or of one message, as long as its
//   dearest pair's;
// - bruck of an alltoall: a step a distance, of all blocks that it passes on, as long as its dearest pair's;
// - pairwise: a node's sends to all others one after the other, of the node that needs longest.
//
// Input:   a verified plan of a collective of a family other than kCommon; arguments.count as CallArguments says.
// Units:   ns, bytes.      Errors: INVALID_ARGUMENT as BlockCosts. Messages beyond its range count as the longest in
// it. Cost:    O(nodes * distances * depth). Source:  ours, with the costs of section 3.1 of the MGO paper; steps as
// the sources of algorithms/circulant.h count.
absl::StatusOr<int64_t> BlockPriceNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                     const TeamCosts& costs, const CallArguments& arguments);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_BLOCK_PRICE_H_
