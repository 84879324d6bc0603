// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "planner/algorithms/golden_vector.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {

std::vector<std::string> Seeds() {
  const std::string small =
      R"({"name": "g", "P": 3, "root": 1, "m": 1024,
          "tree": {"parent": [3, 3, 4, -1, 3], "link_latency_ns": [5000, 9000, 700, 0, 100000],
                   "link_bandwidth_Bps": [1000000, 2000000, 500000, 0, 90000]},
          "o_ns": [1000, 2000, 3000],
          "result": {"FT": {"done_ns": 1, "edges": [[1, 0], [1, 2]]},
                     "MGO": {"done_ns": 1, "edges": [[1, 2], [1, 0]], "phase1_edges": 2, "arrival_ns": [1, 0, 2]},
                     "OPTIMAL": {"done_ns": 9, "edges": []}, "lower_bound_ns": 1}})";
  const std::string large =
      R"({"P": 9223372036854775807, "root": -1, "m": 8589934592, "tree": {"parent": [1, -1], "link_latency_ns":
          [1000000000000, 0], "link_bandwidth_Bps": [1, 1]}, "o_ns": [18446744073709551615], "result": {}})";
  const std::string best =
      R"({"P": 2, "root": 0, "m": 0, "tree": {"parent": [2, 2, -1], "link_latency_ns": [1, 1, 1],
          "link_bandwidth_Bps": [1, 1, 1]}, "o_ns": [0, 0], "result": {"MGO_localsearch_reference_only":
          {"done_ns": 2, "edges": [[0, 1]]}, "BT": {"done_ns": 2, "edges": [[0, 1]]}, "LA_bhat": {"done_ns": 2,
          "edges": [[0, 1]]}}})";
  return {small, large, best};
}

// A vector that parses has the size that it states, and every comparison ends with a verdict.
void OneInput(std::string_view bytes) {
  const auto vector = planner::ParseGoldenVector(bytes);
  if (!vector.ok()) {
    CHECK(!vector.status().message().empty());
    return;
  }
  CHECK(vector->root < vector->costs.node_count());
  // Building trees takes longer than parsing them; the algorithms' own tests cover larger clusters.
  constexpr uint32_t kNodesMax = 7, kResultsMax = 8;
  if (vector->costs.node_count() > kNodesMax || vector->results.size() > kResultsMax) return;
  const planner::GoldenComparison comparison = planner::CompareWithGolden(*vector);
  const size_t bounds = vector->lower_bound_ns.has_value() ? 1 : 0;
  CHECK(comparison.passed + comparison.failed.size() == vector->results.size() + bounds);
}

}  // namespace copse::fuzzing
