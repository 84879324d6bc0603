// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface by which the coordinator gets plans.
#ifndef COPSE_PLANNER_COORDINATOR_INTERFACES_PLAN_MAKER_H_
#define COPSE_PLANNER_COORDINATOR_INTERFACES_PLAN_MAKER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::coordinator {

struct PlanOptions {
  std::string algorithm = {};  // the forced algorithm, as "knomial-4"; empty: the planner's choice
  // The plans of this collective are forced. nullopt: those of all collectives.
  std::optional<Collective> collective = std::nullopt;
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

// A PlanExplanation is a call of a plan in words, as a Graphviz graph, and as JSON, with the nodes of its critical path
// in order.
struct PlanExplanation {
  std::string text;
  std::string dot;
  std::string json;
  std::vector<std::string> critical_path = {};  // node names
  uint64_t bytes = 0;                           // of the call
  double predicted_us = 0;
};

// FirstPlans are the plans with which a team can start at once.
struct FirstPlans {
  std::vector<schedule::Plan> plans;
  bool may_be_better = false;  // they were made without pricing candidates, and MakePlans may find better ones
};

// A PlanMaker makes and explains plans. Only the coordinator's thread calls it. Its plans are verified; their ids are
// not set.
class PlanMaker {
 public:
  virtual ~PlanMaker() = default;
  // The message of an error is sent to the team's members, so it is one line that names the thing and its limit.
  virtual absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                                const PlanOptions& options) = 0;
  // Makes plans without keeping the caller waiting: calls `done` once, on the coordinator's thread, with the result of
  // MakePlans. Implementations that make plans elsewhere call it later, others before this returns.
  using PlansDone = std::function<void(absl::StatusOr<std::vector<schedule::Plan>>)>;
  virtual void MakePlansLater(const schedule::TeamLayout& layout, const PlanOptions& options, PlansDone done) {
    done(MakePlans(layout, options));
  }

  // Returns plans for a first epoch without delay, or nullopt if there are none, or MakePlansLater is as fast.
  virtual std::optional<FirstPlans> QuickPlans(const schedule::TeamLayout&) { return std::nullopt; }
  // Makes the plans of MakePlans, without options and at a low priority, for a team that runs QuickPlans'. MakePlans
  // has them from then on, as far as there is room for them. `done` is called once on the coordinator's thread, maybe
  // before this returns, unless DropBetter is called first: with the predicted savings in us of a typical call of each
  // of QuickPlans' plans, in their order, which may be negative. Errors: RESOURCE_EXHAUSTED while too many teams wait;
  // those of MakePlans.
  using SavingsDone = std::function<void(const absl::StatusOr<std::vector<double>>&)>;
  virtual void PlanBetter(const schedule::TeamLayout&, SavingsDone done) {
    done(absl::UnimplementedError("plans: this planner makes no quick ones"));
  }
  // Returns whether QuickPlans has made the plan.
  virtual bool IsQuick(const schedule::Plan&) const { return false; }
  // Withdraws PlanBetter's order for a team that has ended, or has got other plans.
  virtual void DropBetter(TeamId) {}

  // `bytes` are the call's (schedule::PlanBytesOf); nullopt: those for which plans of its size class are made.
  using Bytes = std::optional<uint64_t>;
  virtual absl::StatusOr<PlanExplanation> Explain(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                                  Bytes bytes) = 0;
  // Explains a plan, or finds its critical path, without keeping the caller waiting, as MakePlansLater makes plans.
  using ExplainDone = std::function<void(absl::StatusOr<PlanExplanation>)>;
  virtual void ExplainLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, Bytes bytes,
                            ExplainDone done) {
    done(Explain(layout, plan, bytes));
  }
  using PathDone = std::function<void(absl::StatusOr<std::vector<std::string>>)>;
  virtual void CriticalPathLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, PathDone done) {
    done(CriticalPath(layout, plan));
  }
  // Returns the critical path alone. Implementations may avoid the comparison of all candidates that Explain makes.
  virtual absl::StatusOr<std::vector<std::string>> CriticalPath(const schedule::TeamLayout& layout,
                                                                const schedule::Plan& plan) {
    absl::StatusOr<PlanExplanation> explanation = Explain(layout, plan, std::nullopt);
    if (!explanation.ok()) return explanation.status();
    return std::move(explanation->critical_path);
  }
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_INTERFACES_PLAN_MAKER_H_
