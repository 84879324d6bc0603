// SPDX-License-Identifier: Apache-2.0
//
// Parses the rules file, which docs/reference/rules.md describes. Its schema is planner/server/rules.schema.json.
#ifndef COPSE_PLANNER_SERVER_RULES_FILE_H_
#define COPSE_PLANNER_SERVER_RULES_FILE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "planner/rules.h"

namespace copse::planner {

inline constexpr int kRulesVersion = 1;

// Parses a file such as
//     version: 1
//     rules:
//       - {collective: bcast, bytes_min: 1024, ranks_max: 64, algorithm: knomial-4, segment_bytes: 4096}
//
// Output:  rules in the order of the file, none of which contradicts another; source "FILE:LINE". An empty file has no
//          rules.
// Errors:  INVALID_ARGUMENT "FILE:LINE: why" for invalid YAML, another version than kRulesVersion, an unknown or
//          missing key, a key twice in a rule, an unknown collective, a value of another kind than the example's, an
//          error of CheckRule, more than kRulesMax rules, and two rules that contradict each other (both are named).
absl::StatusOr<Rules> ParseRules(std::string_view text, std::string_view filename);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_RULES_FILE_H_
