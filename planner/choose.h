// SPDX-License-Identifier: Apache-2.0
//
// The choice of a plan set: cheap plans that share edges.
#ifndef COPSE_PLANNER_CHOOSE_H_
#define COPSE_PLANNER_CHOOSE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::planner {

using EdgeList = std::vector<std::pair<uint32_t, uint32_t>>;

// PricedOption is one way to serve a slot: a structure, by index, at a price.
struct PricedOption {
  uint32_t structure = 0;
  int64_t total_ns = 0;
};
// Slot is a collective and size class that needs a plan.
using Slot = std::vector<PricedOption>;

struct ChoiceOptions {
  double edge_bias = 0.05;
  uint32_t edges_max = 65536;
};

// Chooses one option for every slot so that prices are low and few edges are needed.
//
// Input:   slots[s], each with at least one option; edges[i] of structure i, the result of UndirectedEdges, over
// `node_count`
//          nodes.
// Output:  for every slot the index of its option.
// Method:  greedy, once from every structure ("anchor") whose edges are there from the start: slot by slot the option
//          with the least price * (1 + bias * new edges / (nodes - 1)); ties go to the earlier option. The anchor
//          whose choice has the least sum of such biased prices, each relative to its slot's cheapest, wins; the
//          anchor's own edges, as far as a slot uses them, are biased the same way. Ties go to the earlier anchor.
// Limits:  no node gets more than edges_max distinct neighbors.
// Cost:    O(structures * options in all * nodes).
// Errors:  RESOURCE_EXHAUSTED if no anchor leads to a choice within edges_max. Nothing else.
// Source:  ours.
absl::StatusOr<std::vector<uint32_t>> ChoosePlanSet(const std::vector<Slot>& slots, const std::vector<EdgeList>& edges,
                                                    uint32_t node_count, const ChoiceOptions& options);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_CHOOSE_H_
