// SPDX-License-Identifier: Apache-2.0
//
// Prices a gather, scatter, allgather, reduce_scatter, scan or alltoall by closed formulas.
#ifndef COPSE_PLANNER_PRICING_BLOCK_PRICE_H_
#define COPSE_PLANNER_PRICING_BLOCK_PRICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// Returns when the last rank has its result, all posting at 0: without segments, contention for links or cores. A node
// counts as one block of all its ranks, sized for the node with the most ranks.
//
// - trees: gather, scatter, allgather by algorithms/block_tree.h; reduce_scatter as a reduce of all blocks, then a
//   scatter; a scan as an allgather;
// - rings of allgather and reduce_scatter: n - 1 steps of one block, each as long as the most expensive link's; of a
//   scan: the sum over the links;
// - bruck and doubling: a step per distance, of min(distance, n - distance) blocks or of one message, as long as its
//   most expensive pair's;
// - bruck of an alltoall: a step per distance, of all blocks that it forwards, as long as its most expensive pair's;
// - pairwise: a node's sends to all others one after the other, for the slowest node.
//
// Input:   a verified plan of a collective of a class (Family) other than kCommon; arguments.count follows
//          CallArguments.
// Units:   ns, bytes.      Errors: INVALID_ARGUMENT from BlockCosts. Messages beyond its range count as the longest in
//          it.
// Cost:    O(nodes * distances * depth).
// Source:  ours, with the costs of section 3.1 of the MGO paper; steps are counted as in the sources of
//          algorithms/circulant.h.
absl::StatusOr<int64_t> BlockPriceNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                     const TeamCosts& costs, const CallArguments& arguments);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_BLOCK_PRICE_H_
