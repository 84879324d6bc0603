// SPDX-License-Identifier: Apache-2.0
//
// Finds the differences between two plans.
#ifndef COPSE_CLI_CTL_VERBS_PLAN_DIFF_H_
#define COPSE_CLI_CTL_VERBS_PLAN_DIFF_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/client/style.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

inline constexpr size_t kPlanFileBytesMax = size_t{256} << 20;

// Parses a plan printed by `plan show -w json`, or written by copse-sim's --write-plan. All fields but "edges" may be
// missing; they are then 0 or empty. Errors: INVALID_ARGUMENT, with `filename` first.
absl::StatusOr<v1::PlanRow> ParsePlanRow(std::string_view text, std::string_view filename);

struct PlanDifference {
  using Edge = std::pair<std::string, std::string>;  // from, to
  struct Field {
    std::string key, before, after;
  };
  std::vector<Field> fields;  // fields that differ; id, team, epoch and predicted time are not compared
  double predicted_us_before = 0, predicted_us_after = 0;
  std::vector<Edge> removed, added;    // in the order of edges in their plan
  std::vector<std::string> reordered;  // nodes that serve the same children in another order
};
PlanDifference ComparePlans(const v1::PlanRow& before, const v1::PlanRow& after);

std::string RenderPlanDifference(const PlanDifference& difference, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_PLAN_DIFF_H_
