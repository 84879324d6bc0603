// SPDX-License-Identifier: Apache-2.0
//
// Parses the rules file. docs/reference/rules.md describes the file, planner/server/rules.schema.json is its schema.
#ifndef COPSE_PLANNER_SERVER_RULES_FILE_H_
#define COPSE_PLANNER_SERVER_RULES_FILE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "planner/rules.h"

namespace copse::planner {

inline constexpr int kRulesVersion = 1;

// Reads
//     version: 1
//     rules:
//       - {collective: bcast, bytes_min: 1024, ranks_max: 64, algorithm: knomial-4, segment_bytes: 4096}
//
// Output:  rules in the order of the file, none of which contradicts another; source "FILE:LINE".
// Errors:  INVALID_ARGUMENT "FILE:LINE: what: why (thing=value)" for invalid YAML, an unknown, missing or repeated key,
//          a value that is no number, an error of CheckRule, more than kRulesMax rules, and two rules that contradict
//          each other (both are named). An empty file has no rules.
absl::StatusOr<Rules> ParseRules(std::string_view text, std::string_view filename);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_RULES_FILE_H_
