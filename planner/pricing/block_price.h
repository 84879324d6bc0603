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

// Returns the time at which the last rank has its result if all post at 0, without segments and without contention for
// links and cores. The blocks of a node's ranks are one block, sized for the node with the most ranks. The formulas
// are:
//
// - trees: gather, scatter and allgather as in algorithms/trees/block_tree.h; a reduce_scatter is a reduce of all
//   blocks, then a scatter; a scan is an allgather;
// - rings: for allgather and reduce_scatter n - 1 steps of one block, each as long as over the most expensive link; for
//   scans the sum over the links;
// - bruck of an allgather, and doubling of a scan: a step for each distance, of min(distance, n - distance) blocks or
//   of one message, as long as for the most expensive pair;
// - bruck of an alltoall: a step for each distance, of all blocks that a node forwards, as long as for the most
//   expensive pair;
// - rotated-binomial: for each distance the greatest latency, and as many of the most expensive sends as a node makes;
// - pairwise: a node's sends to all others one after the other, for the slowest node.
//
// Input:   a verified plan of a collective of a class (Family) other than kCommon; arguments.count follows
//          CallArguments.
// Units:   ns, bytes.      Errors: INVALID_ARGUMENT from BlockCosts. Blocks beyond the range of BlockCosts count as the
//          longest within it.
// Cost:    O(nodes * distances * depth).
// Source:  ours, with the costs of section 3.1 of the MGO paper; steps are counted as in the sources of
//          algorithms/exchanges/circulant.h.
absl::StatusOr<int64_t> BlockPriceNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                     const TeamCosts& costs, const CallArguments& arguments);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_BLOCK_PRICE_H_
