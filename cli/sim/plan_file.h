// SPDX-License-Identifier: Apache-2.0
//
// Plans in files, in the format of `copsectl plan show -w json`.
#ifndef COPSE_CLI_SIM_PLAN_FILE_H_
#define COPSE_CLI_SIM_PLAN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schedule/plan.h"

namespace copse::simcli {

inline constexpr size_t kPlanFileBytesMax = size_t{256} << 20;

// NamedPlan is a tree plan whose nodes have names. Nodes are numbered depth first along the edges, the root first.
struct NamedPlan {
  schedule::Plan plan;
  std::vector<std::string> node_names;  // by node of the plan
};

// Parses an object with "edges": [[from, to], ...], from parent to child, each parent's in serving order; the plan of a
// single node has no edges, and "nodes": [name]. "collective", "bytes_min", "bytes_max", "segment_bytes", "algorithm"
// and "id" are optional; the defaults are bcast, 0, schedule::kMessageBytesMax, the longest segment, "file" and 1.
//
// Errors:  INVALID_ARGUMENT for all errors, with `filename` first: no such object, a field of another type or out of
//          range, an edge from a node to itself, a node with two parents or twice in its parent's list, several roots,
//          a cycle, too many nodes, a symmetric schedule (whose edges have no rounds).
// Cost:    O(text).
absl::StatusOr<NamedPlan> ParsePlanFile(std::string_view text, std::string_view filename);

// Writes such a file. `node_names`[v] is the name of the plan's node v. Tree plans only.
std::string FormatPlanFile(const schedule::Plan& plan, absl::Span<const std::string> node_names);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PLAN_FILE_H_
