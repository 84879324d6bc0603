// SPDX-License-Identifier: Apache-2.0
//
// The planner as the coordinator wants it: topology, costs and rules of this cluster behind coordinator::PlanMaker.
#ifndef COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_
#define COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/coordinator/plan_maker.h"
#include "planner/planner.h"
#include "planner/rules.h"
#include "planner/topology/topology.h"

namespace copse::planner {

struct ClusterModel {
  // Without one, all nodes hang on one switch.
  std::optional<topology::Topology> topology;
  Rules rules;
  // Nodes that the topology does not name all run on this machine: they share its cores. 0: every node is its own
  // machine.
  uint32_t shared_cores = 0;
  // Of nodes that are their own machines and of whose cores the topology says nothing; by name.
  std::map<std::string, uint32_t> announced_cores = {};
  // Nodes that are being drained: plans give them as little to do as they can (kDrainingWeight).
  std::set<std::string> draining = {};
};

// While plans are made, a message costs a node that drains so many times what it does: so it becomes a leaf, and others
// do not wait for it.
inline constexpr int64_t kDrainingWeight = 8;

// `model`'s topology with `names` added to it: what plans for these nodes are made from. A node that it does not name
// hangs on its root switch, with default costs; `added`, if not null, gets the names of those.
absl::StatusOr<topology::Topology> ClusterTopology(const ClusterModel& model, const std::vector<std::string>& names,
                                                   std::vector<std::string>* added = nullptr);

// ClusterTopology's result is a copy of the cluster. Teams whose nodes the topology names, as a rule all, differ in
// nothing that it depends on: ClusterTopologies keeps the last result for them. Single-threaded.
class ClusterTopologies {
 public:
  // Shared with whoever still plans by it when a later call makes another.
  using Shared = std::shared_ptr<const topology::Topology>;

  // As ClusterTopology, for always the same model until Forget is called.
  absl::StatusOr<Shared> With(const ClusterModel& model, const std::vector<std::string>& names,
                              std::vector<std::string>* added = nullptr);
  void Forget() { kept_ = nullptr; }

 private:
  std::vector<std::string> added_;  // to kept_
  Shared kept_;
};

// Plan sets that are kept, and neighbours in all of them together: teams of the same members are planned once.
inline constexpr size_t kKeptPlanSetsMax = 64;
inline constexpr size_t kKeptNeighboursMax = size_t{1} << 22;

// Plans are kept until topology, rules, cores or draining nodes change, so that teams with the same members, in the
// same order, are planned once. The first time that a node is not in the topology is logged. Thread-compatible: the
// planner's thread only.
class ClusterPlanMaker : public coordinator::PlanMaker {
 public:
  explicit ClusterPlanMaker(ClusterModel model) : model_(std::move(model)) {}
  void SetRules(Rules rules) {
    model_.rules = std::move(rules);
    kept_.clear();
  }
  void SetTopology(std::optional<topology::Topology> topology) {
    model_.topology = std::move(topology);
    topologies_.Forget();
    kept_.clear();
  }
  // A daemon says how many cores its node has: that counts where the topology says nothing.
  void SetCores(const std::string& node, uint32_t cores) {
    if (std::exchange(model_.announced_cores[node], cores) == cores) return;
    topologies_.Forget();
    kept_.clear();
  }
  // Whether it is being drained. True if that is new.
  bool SetDraining(const std::string& node, bool draining) {
    const bool is_new = draining ? model_.draining.insert(node).second : model_.draining.erase(node) > 0;
    if (is_new) kept_.clear();
    return is_new;
  }
  // How many plan sets were made, not found.
  uint64_t sets_made() const { return sets_made_; }
  const ClusterModel& model() const { return model_; }
  const std::optional<topology::Topology>& topology() const { return model_.topology; }

  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override;
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout& layout,
                                                       const schedule::Plan& plan) override;

  absl::StatusOr<std::vector<std::string>> CriticalPath(const schedule::TeamLayout& layout,
                                                        const schedule::Plan& plan) override;

  // By how many times the call is faster, for which new plans would gain most over `plans`, by their predictions. 1:
  // for none. Nodes that drain count as while plans are made. Errors: as MakePlans; a plan that cannot be priced any
  // more.
  absl::StatusOr<double> GainOfReplanning(const schedule::TeamLayout& layout, const std::vector<schedule::Plan>& plans);

  // Whether new plans would be others than `plans`, ids and predictions aside. Errors: as MakePlans.
  absl::StatusOr<bool> WouldDiffer(const schedule::TeamLayout& layout, const std::vector<schedule::Plan>& plans);

  // As ClusterTopology.
  absl::StatusOr<ClusterTopologies::Shared> TopologyWith(const std::vector<std::string>& names);

 private:
  // TopologyWith, where nodes that drain are slow.
  absl::StatusOr<ClusterTopologies::Shared> WeightedTopologyWith(const std::vector<std::string>& names);

  struct Kept {
    std::string key;  // members and options
    std::vector<schedule::Plan> plans;
    size_t neighbours = 0;
  };

  absl::StatusOr<std::vector<schedule::Plan>> MakeNewPlans(const schedule::TeamLayout& layout,
                                                           const coordinator::PlanOptions& options);
  void Keep(std::string key, const std::vector<schedule::Plan>& plans);

  ClusterModel model_;
  ClusterTopologies topologies_;
  std::set<std::string> unknown_;  // logged before
  std::list<Kept> kept_;           // the last used first
  uint64_t sets_made_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_
