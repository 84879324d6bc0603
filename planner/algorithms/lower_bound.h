// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_
#define COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// Returns a time in ns that no broadcast from `root` can beat, the greater of two bounds:
//
// - Distance: the direct message to the farthest node. A relayed message crosses at least the links of the direct path,
//   so it pays their latencies, the stream time of the slowest one, and the relays' overheads besides.
// - Doubling: suppose that every node but the root sends as fast as the fastest of them sends to its nearest node, and
//   that every message takes the shortest latency and receive overhead of all. Then sends end at e_1 <= e_2 <= ... at
//   the earliest, and no broadcast ends i sends before e_i. Sort the nodes by the least time from the end of a send to
//   them until they have the message, the longest first: of the first i nodes, one is reached by the i-th send or a
//   later one, so the broadcast takes at least e_i and the time of the i-th node.
//
// Cost:    O(n^2) if the costs have a matrix, otherwise O(n log n + n * depth); the doubling bound then considers only
//          each node's link to its switch, and is lower.
// Errors:  none.          Source: ours.
int64_t LowerBoundNs(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_
