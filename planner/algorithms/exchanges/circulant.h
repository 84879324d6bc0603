// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_CIRCULANT_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_CIRCULANT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace copse::planner {

// Returns the distances of a circulant plan (schedule/plan.h) over `n` nodes, by the algorithm's name:
//
// - "ring": 1. A segment is forwarded from its owner to all other nodes, or is reduced on its way from them to its
//   owner, in n - 1 steps; in a scan, partial sums are forwarded along the cycle, but not from its last node to its
//   first.
// - "bruck": 1, 2, 4, ... below n. In an allgather the number of blocks at a node doubles in each step. In an alltoall
//   a block is forwarded along the bits of its distance: each node sends log n messages of half of its blocks each.
// - "doubling": the distances of "bruck" for a scan: in each step a node adds the sum over as many nodes before those
//   that its sum covers.
// - "rotated-binomial": the distances of "bruck" for an allreduce or reduce_scatter: each segment is reduced to its
//   owner, and (allreduce) distributed from it, along the owner's binomial tree (schedule/cycle_tree.h). Consecutive
//   segments have different owners, so a node sends as little as in recursive halving and doubling, 2 (n - 1) / n of an
//   allreduce's message, in 2 log n steps; for any n.
// - "pairwise": 1, 2, 3, ... n - 1. Every node sends to every other one.
//
// Output:  the distances, ascending (none for one node); nullopt if there is no such algorithm.
// Source:  bruck: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all
//          communications in multiport message-passing systems", IEEE TPDS 8 (1997). doubling: W. D. Hillis, G. L.
//          Steele, "Data parallel algorithms", CACM 29 (1986).
std::optional<std::vector<uint32_t>> CirculantDistances(std::string_view algorithm, uint32_t n);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_CIRCULANT_H_
