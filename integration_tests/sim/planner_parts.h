// SPDX-License-Identifier: Apache-2.0
//
// The parts of a simulated planner beside its coordinator: plans, and a store that can fail.
#ifndef COPSE_INTEGRATION_TESTS_SIM_PLANNER_PARTS_H_
#define COPSE_INTEGRATION_TESTS_SIM_PLANNER_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/planner.h"
#include "planner/topology/topology.h"

namespace copse::scenario {

// Makes plans by the production planner, for one switch with all nodes.
class FlatPlanMaker : public coordinator::PlanMaker {
 public:
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override {
    std::vector<std::string> names;
    for (const schedule::TeamNode& node : layout.nodes) names.push_back(node.name);
    ASSIGN_OR_RETURN(const topology::Topology topology, topology::FlatTopology(names));
    planner::PlannerOptions planner_options;
    if (options.collective) {
      planner_options.forced[PlanCollective(*options.collective)] = options.algorithm;
    } else if (!options.algorithm.empty()) {
      for (const auto c : CollectivesOf(Family::kCommon)) {
        planner_options.forced[c] = options.algorithm;
      }
    }
    return planner::Planner(&topology, {}, planner_options).MakePlans(layout.shape, names, layout.identity.family);
  }
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout&, const schedule::Plan&,
                                                       Bytes) override {
    return absl::UnimplementedError("not in the simulator");
  }
};

// Stores the production coordinator's state; can crash right after a decision is recorded, and refuse saves.
class FailingStore : public coordinator::MemoryStore {
 public:
  void Commit(std::vector<coordinator::StoreChange> changes, std::function<void(const absl::Status&)> done) override {
    if (refuses_) return done(absl::ResourceExhaustedError("the disk is full"));
    for (const coordinator::StoreChange& change : changes) {
      const auto* put = std::get_if<coordinator::PutTeam>(&change);
      crashed_ |= armed_ && put != nullptr && put->record->epoch.value() > 1 && !put->record->broken;
    }
    MemoryStore::Commit(std::move(changes), std::move(done));
  }

  void Arm() { armed_ = true; }
  bool crashed() const { return crashed_; }
  void Reset() { armed_ = crashed_ = false; }
  void Refuse(bool on) { refuses_ = on; }

 private:
  bool armed_ = false;
  bool crashed_ = false;
  bool refuses_ = false;
};

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SIM_PLANNER_PARTS_H_
