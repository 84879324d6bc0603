// SPDX-License-Identifier: Apache-2.0
//
// Small hand-made plans for tests: the production trees come from planner/, which this folder does not know.
#ifndef COPSE_SCHEDULE_TESTING_SAMPLE_PLANS_H_
#define COPSE_SCHEDULE_TESTING_SAMPLE_PLANS_H_

#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Places `ranks_per_node` ranks on each of `nodes` nodes, in blocks.
inline TeamShape BlockShape(uint32_t nodes, uint32_t ranks_per_node) {
  TeamShape shape{.node_count = nodes};
  for (uint32_t r = 0; r < nodes * ranks_per_node; ++r) shape.node_of_rank.push_back(NodeIndex(r / ranks_per_node));
  return shape;
}

// A random tree over `nodes` nodes, rooted at node 0.
inline Plan RandomTreePlan(Collective collective, uint32_t nodes, uint64_t seed) {
  Prng prng(seed);
  Plan plan{.id = PlanId(1),
            .collective = collective,
            .bytes_max = collective == Collective::kBarrier ? 0 : kMessageBytesMax,
            .algorithm = "random",
            .node_count = nodes,
            .segment_bytes = SegmentBytesMax(collective)};
  plan.neighbors.resize(nodes);
  for (uint32_t v = 1; v < nodes; ++v) {
    const auto parent = static_cast<uint32_t>(prng.Below(v));
    plan.neighbors[parent].push_back(v);
    plan.neighbors[v].push_back(parent);
  }
  return plan;
}

// A star of `leaves` around node 0.
inline Plan StarPlan(Collective collective, uint32_t leaves) {
  Plan plan = RandomTreePlan(collective, leaves + 1, 1);
  plan.neighbors.assign(leaves + 1, {0});
  plan.neighbors[0].resize(leaves);
  std::iota(plan.neighbors[0].begin(), plan.neighbors[0].end(), 1);
  return plan;
}

// An exchange without steps, for allreduces of messages up to `bytes_max`.
inline Plan ExchangePlan(uint64_t id, const char* algorithm, uint32_t nodes, uint64_t bytes_max) {
  Plan plan{.id = PlanId(id),
            .collective = Collective::kAllreduce,
            .bytes_max = bytes_max,
            .algorithm = algorithm,
            .kind = PlanKind::kExchange,
            .node_count = nodes};
  plan.steps.resize(nodes);
  return plan;
}

// Dissemination: in round k node v sends to v + 2^(k-1) and receives from v - 2^(k-1).
inline Plan DisseminationPlan(uint32_t nodes) {
  Plan plan = ExchangePlan(2, "dissemination", nodes, 0);
  plan.collective = Collective::kBarrier;
  uint16_t round = 1;
  for (uint32_t distance = 1; distance < nodes; distance *= 2, ++round) {
    for (uint32_t v = 0; v < nodes; ++v) {
      plan.steps[v].push_back({round, (v + distance) % nodes, (v + nodes - distance) % nodes});
    }
  }
  return plan;
}

// Recursive doubling for a power of two nodes and messages up to `bytes_max`.
inline Plan DoublingPlan(uint32_t nodes, uint64_t bytes_max) {
  Plan plan = ExchangePlan(3, "recursive-doubling", nodes, bytes_max);
  uint16_t round = 1;
  for (uint32_t distance = 1; distance < nodes; distance *= 2, ++round) {
    for (uint32_t v = 0; v < nodes; ++v) plan.steps[v].push_back({round, v ^ distance, v ^ distance});
  }
  return plan;
}

// The distances of a circulant plan over `n` nodes: "ring", "doubling" or "everybody".
inline std::vector<uint32_t> Distances(std::string_view kind, uint32_t n) {
  std::vector<uint32_t> distances;
  for (uint32_t d = 1; d < n && (d == 1 || kind != "ring"); d = kind == "doubling" ? 2 * d : d + 1) {
    distances.push_back(d);
  }
  return distances;
}

// A cycle of the nodes in order, or in random order.
inline Plan CirculantPlan(Collective collective, uint32_t nodes, std::vector<uint32_t> distances,
                          Prng* prng = nullptr) {
  Plan plan{.id = PlanId(5),
            .collective = collective,
            .bytes_max = kMessageBytesMax,
            .algorithm = "cycle",
            .kind = PlanKind::kCirculant,
            .node_count = nodes,
            .segment_bytes = SegmentBytesMax(collective)};
  std::vector<uint32_t> cycle(nodes);
  std::iota(cycle.begin(), cycle.end(), 0);
  for (uint32_t i = nodes; prng != nullptr && i > 1; --i) std::swap(cycle[i - 1], cycle[prng->Below(i)]);
  plan.neighbors = {std::move(cycle), std::move(distances)};
  return plan;
}

// One round in which every node sends to every other, for messages up to `bytes_max`.
inline Plan AllToAllPlan(uint32_t nodes, uint64_t bytes_max) {
  Plan plan = ExchangePlan(4, "all-to-all", nodes, bytes_max);
  for (uint32_t v = 0; v < nodes; ++v) {
    for (uint32_t i = 1; i < nodes; ++i) plan.steps[v].push_back({1, (v + i) % nodes, (v + nodes - i) % nodes});
  }
  return plan;
}

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_TESTING_SAMPLE_PLANS_H_
