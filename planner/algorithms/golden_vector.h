// SPDX-License-Identifier: Apache-2.0
//
// Reads golden vectors, which are clusters with the edges and times that each algorithm must give, and compares our
// algorithms with them. docs/reference/copse-sim.md has the format.
#ifndef COPSE_PLANNER_ALGORITHMS_GOLDEN_VECTOR_H_
#define COPSE_PLANNER_ALGORITHMS_GOLDEN_VECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

struct GoldenResult {
  std::string algorithm;
  int64_t done_ns = 0;
  std::vector<BroadcastEdge> edges;
  std::optional<uint32_t> phase1_edges;
  std::vector<int64_t> arrival_ns;  // empty: not given
};

struct GoldenVector {
  std::string name;
  uint32_t root = 0;
  uint64_t bytes = 0;
  BroadcastCosts costs;  // has its matrix, up to BroadcastCosts::kMatrixNodesMax nodes
  std::vector<GoldenResult> results;
  std::optional<int64_t> lower_bound_ns;
};

// Parses the JSON text of one golden vector. Errors: INVALID_ARGUMENT if the text is not a JSON object, if a member is
// missing, of another type or out of range, which the message names, and those of BroadcastCosts::FromTree.
absl::StatusOr<GoldenVector> ParseGoldenVector(std::string_view text);

// Limits the completion time of "best", in percent of the reference result.
inline constexpr int64_t kGoldenBestPercentMax = 103;

struct GoldenComparison {
  uint32_t passed = 0;  // number of algorithms without a difference; plus 1 if the lower bound has passed
  // It has one line for each algorithm that differs, with its first difference, and one if the lower bound has failed.
  std::vector<std::string> failed;
};

// Runs every algorithm for which the vector has a result, and checks our lower bound if the vector has one.
GoldenComparison CompareWithGolden(const GoldenVector& vector);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_GOLDEN_VECTOR_H_
