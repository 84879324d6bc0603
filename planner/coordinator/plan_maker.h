// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's source of plans.
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
  // Only plans of this collective are forced; unset: plans of all collectives.
  std::optional<Collective> collective = std::nullopt;
};

// PlanExplanation is a plan in words, as a Graphviz graph, and as JSON, with the chain of nodes on its critical path.
struct PlanExplanation {
  std::string text;
  std::string dot;
  std::string json;
  std::vector<std::string> critical_path;  // node names
};

// PlanMaker is called by the coordinator's thread only. The plans it makes are verified; their ids are not set.
class PlanMaker {
 public:
  virtual ~PlanMaker() = default;
  // Errors are sent to the team's members: one line that names the thing and its limit.
  virtual absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                                const PlanOptions& options) = 0;
  virtual absl::StatusOr<PlanExplanation> Explain(const schedule::TeamLayout& layout, const schedule::Plan& plan) = 0;
  // Returns the critical path without the rest of an explanation, which costs a comparison of all candidates.
  virtual absl::StatusOr<std::vector<std::string>> CriticalPath(const schedule::TeamLayout& layout,
                                                                const schedule::Plan& plan) {
    absl::StatusOr<PlanExplanation> explanation = Explain(layout, plan);
    if (!explanation.ok()) return explanation.status();
    return std::move(explanation->critical_path);
  }
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_PLAN_MAKER_H_
