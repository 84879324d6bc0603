// SPDX-License-Identifier: Apache-2.0
//
// Where the coordinator gets plans from.
#ifndef COPSE_PLANNER_COORDINATOR_PLAN_MAKER_H_
#define COPSE_PLANNER_COORDINATOR_PLAN_MAKER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::coordinator {

struct PlanOptions {
  std::string algorithm = {};  // forced, "knomial-4"; empty: the planner's choice
  // Only plans of this collective are forced; unset: of all.
  std::optional<Collective> collective = std::nullopt;
};

// A plan in words, as a graph for graphviz, and as JSON; and the chain of nodes that its predicted time follows.
struct PlanExplanation {
  std::string text;
  std::string dot;
  std::string json;
  std::vector<std::string> critical_path;  // node names
};

// Called by the coordinator's thread only. The plans it makes are verified; their ids are not set.
class PlanMaker {
 public:
  virtual ~PlanMaker() = default;
  // Errors are told to the team's members: one line that names what and which limit.
  virtual absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                                const PlanOptions& options) = 0;
  virtual absl::StatusOr<PlanExplanation> Explain(const schedule::TeamLayout& layout, const schedule::Plan& plan) = 0;
  // Of an explanation, which costs a comparison of all candidates, the critical path alone.
  virtual absl::StatusOr<std::vector<std::string>> CriticalPath(const schedule::TeamLayout& layout,
                                                                const schedule::Plan& plan) {
    absl::StatusOr<PlanExplanation> explanation = Explain(layout, plan);
    if (!explanation.ok()) return explanation.status();
    return std::move(explanation->critical_path);
  }
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_PLAN_MAKER_H_
