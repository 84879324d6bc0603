// SPDX-License-Identifier: Apache-2.0
//
// Random clusters, and simulated measurements in them.
#ifndef COPSE_PLANNER_MEASURE_TESTING_RANDOM_TREE_H_
#define COPSE_PLANNER_MEASURE_TESTING_RANDOM_TREE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "gtest/gtest.h"
#include "planner/measure/link_paths.h"
#include "planner/measure/measurement.h"
#include "planner/topology/topology.h"

namespace copse::measure {

// Makes up to `depth` levels of switches, of two to four branches each (the root of three or four: with two it cannot
// be detected). Links between switches take 100 us to 10 ms, those of nodes 5 to 50 us; rates are 10 MB/s to 1.25 GB/s.
// Nodes are numbered in a shuffled order, so that numbers carry no information about neighbors.
inline topology::Topology RandomTree(Prng* prng, uint32_t depth) {
  const auto between = [prng](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(prng->Below(static_cast<uint64_t>(high - low + 1)));
  };
  const auto rate = [&] { return int64_t{10'000'000} << prng->Below(8); };
  std::vector<topology::Switch> switches = {{.name = "root"}};
  std::vector<topology::Node> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> stack = {{0, 1}};  // switch, level
  while (!stack.empty()) {
    const auto [s, level] = stack.back();
    stack.pop_back();
    const int64_t branches = between(s == 0 ? 3 : 2, 4);
    for (int64_t b = 0; b < branches; ++b) {
      if (level < depth && prng->Chance(0.6)) {
        switches.push_back({.name = absl::StrCat("x", switches.size()),
                            .parent = s,
                            .latency_ns = between(100'000, 10'000'000),
                            .bandwidth_bytes_per_s = rate()});
        stack.emplace_back(static_cast<uint32_t>(switches.size() - 1), level + 1);
      } else {
        nodes.push_back(
            {.parent = s, .overhead_ns = 2'000, .latency_ns = between(5'000, 50'000), .bandwidth_bytes_per_s = rate()});
      }
    }
  }
  for (size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[prng->Below(i)]);
  for (size_t n = 0; n < nodes.size(); ++n) nodes[n].name = absl::StrCat("n", n + 1);
  return *topology::Topology::Create(std::move(switches), std::move(nodes));
}

// Calls `check(tree, &prng)` for a random tree of each seed from 1 to `seeds`.
template <typename Check>
void ForRandomTrees(uint64_t seeds, uint32_t depth, const Check& check) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Prng prng(seed);
    const topology::Topology tree = RandomTree(&prng, depth);
    check(tree, &prng);
  }
}

// Measures as daemons would, up to `noise_ns` too long and with rates up to `noise` too low.
inline std::vector<PairMeasurement> Measure(const topology::Topology& tree, const std::vector<NodePair>& pairs,
                                            int64_t noise_ns, double noise, Prng* prng) {
  std::vector<PairMeasurement> measurements;
  for (const NodePair& pair : pairs) {
    const topology::Path path = tree.PathBetween(pair.a, pair.b);
    const double rate = static_cast<double>(path.bandwidth_bytes_per_s) * (1 - noise * prng->Unit());
    measurements.push_back(
        {.pair = pair,
         .latency_ns = path.latency_ns + static_cast<int64_t>(prng->Below(static_cast<uint64_t>(noise_ns) + 1)),
         .latency_spread_ns = noise_ns / 2,
         .bandwidth_bytes_per_s = static_cast<int64_t>(rate)});
  }
  return measurements;
}

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_TESTING_RANDOM_TREE_H_
