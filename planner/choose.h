// SPDX-License-Identifier: Apache-2.0
//
// Chooses a set of plans that are cheap and share edges.
#ifndef COPSE_PLANNER_CHOOSE_H_
#define COPSE_PLANNER_CHOOSE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::planner {

using EdgeList = std::vector<std::pair<uint32_t, uint32_t>>;

// A PricedOption is one way to serve a slot: a structure at a price.
struct PricedOption {
  uint32_t structure = 0;
  int64_t total_ns = 0;
};
// A Slot stands for a collective and size class that needs a plan, and lists its options.
using Slot = std::vector<PricedOption>;

struct ChoiceOptions {
  double edge_bias = 0.05;
  uint32_t edges_max = 65536;
};

// Chooses one option for every slot so that prices are low and few edges are needed.
//
// Input:   slots[s], each with at least one option; edges[i] is the result of UndirectedEdges for structure i. Nodes
//          are below `node_count`.
// Output:  for every slot the index of its option.
// Method:  greedy, once for every structure ("anchor"), whose edges are not counted as new: each slot in turn gets the
//          option with the least price * (1 + bias * new edges / (nodes - 1)); ties go to the earlier option. A choice
//          is then scored by the sum over its slots of price / (the slot's lowest price) + bias * new edges / (nodes -
//          1), where an edge of the anchor is new to the first slot that uses it. The least score wins; ties go to the
//          earlier anchor.
// Limits:  no node gets more than edges_max distinct neighbors, the anchor's included.
// Cost:    O(structures * options in all * nodes).
// Errors:  RESOURCE_EXHAUSTED if no anchor leads to a choice within edges_max. Nothing else.
// Source:  ours.
absl::StatusOr<std::vector<uint32_t>> ChoosePlanSet(const std::vector<Slot>& slots, const std::vector<EdgeList>& edges,
                                                    uint32_t node_count, const ChoiceOptions& options);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_CHOOSE_H_
