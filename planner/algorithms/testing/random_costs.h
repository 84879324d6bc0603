// SPDX-License-Identifier: Apache-2.0
//
// Random clusters for tests: all shapes, with many ties or none.
#ifndef COPSE_PLANNER_ALGORITHMS_TESTING_RANDOM_COSTS_H_
#define COPSE_PLANNER_ALGORITHMS_TESTING_RANDOM_COSTS_H_

#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/topology/topology.h"

namespace copse::planner {

// Makes a cluster of up to `nodes_max` nodes and 12 switches, some of which may have no nodes. Every third cluster has
// figures of 1 to 3, so that nearly everything is a tie; overheads to send and to receive differ.
inline BroadcastCosts RandomTreeCosts(Prng& prng, uint32_t nodes_max) {
  const uint32_t nodes = 1 + static_cast<uint32_t>(prng.Below(nodes_max));
  const uint32_t switches = 1 + static_cast<uint32_t>(prng.Below(12));
  const bool ties = prng.Below(3) == 0;
  const auto figure = [&](uint64_t limit) { return static_cast<int64_t>(1 + prng.Below(ties ? 3 : limit)); };
  CostTree tree;
  std::vector<int64_t> send, receive;
  for (uint32_t v = 0; v < nodes; ++v) {
    tree.parent.push_back(nodes + static_cast<uint32_t>(prng.Below(switches)));
    send.push_back(figure(100));
    receive.push_back(figure(100));
  }
  for (uint32_t s = 0; s < switches; ++s) {
    tree.parent.push_back(s == 0 ? topology::kNoParent : nodes + static_cast<uint32_t>(prng.Below(s)));
  }
  for (size_t v = 0; v < tree.parent.size(); ++v) {
    tree.latency_ns.push_back(figure(1000));
    tree.bandwidth_bytes_per_s.push_back(1'000'000'000 / figure(50));
  }
  return BroadcastCosts::FromTree(tree, send, receive, 11).value();
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TESTING_RANDOM_COSTS_H_
