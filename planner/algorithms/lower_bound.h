// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_
#define COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// A time that no broadcast from `root` can beat. The greater of two:
//
// - Distance: the farthest node, along its shortest path of messages. On a tree that is the direct message, since what
//   goes through others pays every link and every slowest link again, and overheads besides.
// - Doubling: suppose that every node but the root sends as fast as the fastest can to its nearest, and every message
//   travels like the shortest. Counting how many sends can be over by when gives e_1 <= e_2 <= ..., which no broadcast
//   beats; then the node that is i-th hardest to reach (least latency of any path to it, and its overhead) waits for
//   one of the first i sends, or somebody harder does.
//
// Cost:    without a matrix O(n log n + n * depth), the doubling with each node's own link alone; with one O(n^2).
// Errors:  none.          Source: ours.
int64_t LowerBoundNs(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_LOWER_BOUND_H_
