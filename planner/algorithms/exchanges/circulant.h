// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_CIRCULANT_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_CIRCULANT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace copse::planner {

// The distances of a circulant plan (schedule/plan.h) over `n` nodes, by name:
//
// - "ring": 1. A chunk goes from its owner to all others, or is combined on its way from all others to its owner; of a
//   scan, sums go along it once, and nothing over its closing link. n - 1 steps of one node's part each.
// - "bruck": 1, 2, 4, ... below n. An allgather in which what a node has doubles in each step; an alltoall in which a
// block
//   goes its way bit by bit: log n messages of half of all blocks each.
// - "doubling": the same distances for a scan: in each step a node adds what the nodes before its own window amount to.
// - "rotated-binomial": the same distances for an allreduce or reduce_scatter: each segment comes to its owner, and
//   goes from it, along the owner's binomial tree (schedule/cycle_tree.h). Owners take turns, so that every link
//   carries as little as by recursive halving and doubling, 2 (n - 1) / n of an allreduce's message, in 2 log n steps;
//   for any n.
// - "pairwise": 1, 2, 3, ... n - 1. Every node sends to every other one.
//
// Output:  ascending; nothing if there is no such name; empty for one node.
// Source:  bruck: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all
//          communications in multiport message-passing systems", IEEE TPDS 8 (1997). doubling: W. D. Hillis, G. L.
//          Steele, "Data parallel algorithms", CACM 29 (1986).
std::optional<std::vector<uint32_t>> CirculantDistances(std::string_view algorithm, uint32_t n);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_CIRCULANT_H_
