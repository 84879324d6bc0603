// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_
#define COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// Returns a time that no broadcast from `root` can beat, the greater of two:
//
// - Distance: the direct message to the farthest node. A relayed message crosses at least the links of the direct path,
//   so it pays their latencies, the stream time of the slowest one, and the relays' overheads besides.
// - Doubling: suppose that every node but the root sends as fast as the fastest node sends to its nearest, and every
//   message travels as fast as the shortest. The earliest ends of the sends are e_1 <= e_2 <= ..., which no broadcast
//   beats; the node that is i-th hardest to reach (least latency of any path to it, and its overhead) waits for
//   one of the first i sends, or a harder one does.
//
// Cost:    without a matrix O(n log n + n * depth); the doubling then considers each node's own link only. With one
//          O(n^2).
// Errors:  none.          Source: ours.
int64_t LowerBoundNs(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_
