// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes plans in files, in the format of `copsectl plan show -w json`.
#ifndef COPSE_CLI_SIM_PLAN_FILE_H_
#define COPSE_CLI_SIM_PLAN_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "schedule/plan.h"

namespace copse::simcli {

inline constexpr size_t kPlanFileBytesMax = size_t{256} << 20;

// A NamedPlan is a tree plan whose nodes have names. Nodes are numbered from the root, depth first along the edges.
struct NamedPlan {
  schedule::Plan plan;
  std::vector<std::string> node_names;  // by number of the node
};

// Parses an object with "edges": [[from, to], ...], which lead from parent to child, those of a parent in serving
// order. The plan of a single node has no edges, and "nodes": [name]. "collective", "bytes_min", "bytes_max",
// "segment_bytes", "algorithm" and "id" are optional. The defaults are bcast, 0, schedule::kMessageBytesMax (0 for a
// barrier), schedule::kSegmentBytesUsual (0 if "bytes_max" is not longer), "file" and 1.
//
// Errors:  INVALID_ARGUMENT, with `filename` first: a text that is too long or no such object, a field of another type
// or
//          out of range, edges that are no tree, too many nodes, an algorithm that makes symmetric schedules (a file
//          lacks their rounds).
// Cost:    O(text).
absl::StatusOr<NamedPlan> ParsePlanFile(std::string_view text, std::string_view filename);

// Returns the text of such a file for a tree plan. `node_names`[v] is the name of the plan's node v.
std::string FormatPlanFile(const schedule::Plan& plan, absl::Span<const std::string> node_names);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PLAN_FILE_H_
