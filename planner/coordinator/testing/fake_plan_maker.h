// SPDX-License-Identifier: Apache-2.0
//
// Makes flat trees for barrier and allreduce, for any topology.
#ifndef COPSE_PLANNER_COORDINATOR_TESTING_FAKE_PLAN_MAKER_H_
#define COPSE_PLANNER_COORDINATOR_TESTING_FAKE_PLAN_MAKER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/coordinator/interfaces/plan_maker.h"

namespace copse::coordinator {

class FakePlanMaker : public PlanMaker {
 public:
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const PlanOptions& options) override {
    if (!error.ok()) return error;
    std::vector<schedule::Plan> plans;
    for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce}) {
      schedule::Plan plan;
      plan.collective = collective;
      plan.bytes_max = 1024;
      plan.algorithm = options.algorithm.empty() ? "flat" : options.algorithm;
      plan.node_count = layout.shape.node_count;
      plan.neighbors.resize(plan.node_count);
      for (uint32_t v = 1; v < plan.node_count; ++v) {
        plan.neighbors[0].push_back(v);
        plan.neighbors[v].push_back(0);
      }
      plans.push_back(plan);
    }
    return plans;
  }
  absl::StatusOr<PlanExplanation> Explain(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                          Bytes) override {
    return PlanExplanation{absl::StrCat(plan.algorithm, " over ", layout.nodes.size(), " nodes"),
                           "graph {}",
                           "{}",
                           {layout.nodes[0].name}};
  }

  void MakePlansLater(const schedule::TeamLayout& layout, const PlanOptions& options, PlansDone done) override {
    if (!later) return done(MakePlans(layout, options));
    planned_.push_back([this, layout, options, done = std::move(done)] { done(MakePlans(layout, options)); });
  }
  std::optional<FirstPlans> QuickPlans(const schedule::TeamLayout& layout) override {
    if (!quick) return std::nullopt;
    return FirstPlans{.plans = *MakePlans(layout, {.algorithm = "quick"}), .may_be_better = true};
  }
  bool IsQuick(const schedule::Plan& plan) const override { return plan.algorithm == "quick"; }
  void PlanBetter(const schedule::TeamLayout& layout, SavingsDone done) override {
    better[layout.id] = std::move(done);
  }
  void DropBetter(TeamId team) override { better.erase(team); }
  // Ends the oldest order for better plans.
  void FinishBetter(const absl::StatusOr<std::vector<double>>& savings) {
    const SavingsDone done = std::move(better.begin()->second);
    better.erase(better.begin());
    done(savings);
  }
  // Passes on what was asked for since `later` was set.
  void Finish() {
    for (const auto& done : std::exchange(planned_, {})) done();
  }
  // Forgets it, since the coordinator that asked is gone.
  void Drop() { planned_.clear(); }

  absl::Status error;
  bool later = false;  // plans are made when Finish is called
  bool quick = false;  // teams start with quick plans, by the algorithm "quick"
  std::map<TeamId, SavingsDone> better;

 private:
  std::vector<std::function<void()>> planned_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TESTING_FAKE_PLAN_MAKER_H_
