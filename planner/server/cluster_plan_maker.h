// SPDX-License-Identifier: Apache-2.0
//
// Implements coordinator::PlanMaker with the topology, costs and rules of this cluster.
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
  // Without a topology, all nodes are on one switch.
  std::optional<topology::Topology> topology;
  Rules rules;
  // Nodes that the topology does not name all run on this machine and share its cores. 0: every node is its own
  // machine.
  uint32_t shared_cores = 0;
  // By name: cores of nodes that are their own machines, used where the topology has none.
  std::map<std::string, uint32_t> announced_cores = {};
  // Nodes that are being drained: plans give them as little work as possible (kDrainingWeight).
  std::set<std::string> draining = {};
};

// Factor on the message costs of a draining node while plans are made. It makes it likely that the node becomes a leaf,
// for which no other node waits.
inline constexpr int64_t kDrainingWeight = 8;

// Returns `model`'s topology with `names` added to it, from which plans for these nodes are made. A node that it does
// not name is added to its root switch, with default costs.
absl::StatusOr<topology::Topology> ClusterTopology(const ClusterModel& model, const std::vector<std::string>& names);

// ClusterTopologies caches the last result of ClusterTopology, which is a copy of the cluster. Teams whose nodes the
// topology names, the usual case, all have the same result. Single-threaded.
class ClusterTopologies {
 public:
  // Shared keeps the topology alive for plans in progress when a later call makes another.
  using Shared = std::shared_ptr<const topology::Topology>;

  // Returns ClusterTopology's result; the model must not change until Forget is called. `added`, if not null, gets the
  // names that the model's topology does not contain.
  absl::StatusOr<Shared> With(const ClusterModel& model, const std::vector<std::string>& names,
                              std::vector<std::string>* added = nullptr);
  void Forget() { kept_ = nullptr; }

 private:
  std::vector<std::string> added_;  // nodes added to kept_
  Shared kept_;
};

// Limits of cached plan sets, and of neighbors in all of them together: teams of the same members are planned once.
inline constexpr size_t kKeptPlanSetsMax = 64;
inline constexpr size_t kKeptNeighboursMax = size_t{1} << 22;

// ClusterPlanMaker caches plans until topology, rules, cores or draining nodes change, so that teams with the same
// members, in the same order, are planned once. The first time that a node is not in the topology is logged.
// Thread-compatible: the planner's thread only.
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
  // Sets the number of cores that a daemon reports; it is used where the topology has none.
  void SetCores(const std::string& node, uint32_t cores) {
    if (std::exchange(model_.announced_cores[node], cores) == cores) return;
    topologies_.Forget();
    kept_.clear();
  }
  // Sets whether the node is being drained. Returns true if that changed.
  bool SetDraining(const std::string& node, bool draining) {
    const bool is_new = draining ? model_.draining.insert(node).second : model_.draining.erase(node) > 0;
    if (is_new) kept_.clear();
    return is_new;
  }
  // Returns the number of plan sets that were made, not found in the cache.
  uint64_t sets_made() const { return sets_made_; }
  const ClusterModel& model() const { return model_; }
  const std::optional<topology::Topology>& topology() const { return model_.topology; }

  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override;
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout& layout,
                                                       const schedule::Plan& plan) override;

  absl::StatusOr<std::vector<std::string>> CriticalPath(const schedule::TeamLayout& layout,
                                                        const schedule::Plan& plan) override;

  // Returns the largest speed-up of any call by new plans over `plans`, as predicted; 1: none. Draining nodes have the
  // weight that they have while plans are made. Errors: those of MakePlans; a plan that can no longer be priced.
  absl::StatusOr<double> GainOfReplanning(const schedule::TeamLayout& layout, const std::vector<schedule::Plan>& plans);

  // Returns whether new plans would differ from `plans`, apart from ids and predictions. Errors: those of MakePlans.
  absl::StatusOr<bool> WouldDiffer(const schedule::TeamLayout& layout, const std::vector<schedule::Plan>& plans);

  // Returns ClusterTopology for the current model.
  absl::StatusOr<ClusterTopologies::Shared> TopologyWith(const std::vector<std::string>& names);

 private:
  // Returns TopologyWith's result with slow draining nodes.
  absl::StatusOr<ClusterTopologies::Shared> WeightedTopologyWith(const std::vector<std::string>& names);

  struct Kept {
    std::string key;  // collective class, options, members, and the node of each rank (KeyOf)
    std::vector<schedule::Plan> plans;
    size_t neighbours = 0;
  };

  absl::StatusOr<std::vector<schedule::Plan>> MakeNewPlans(const schedule::TeamLayout& layout,
                                                           const coordinator::PlanOptions& options);
  void Keep(std::string key, const std::vector<schedule::Plan>& plans);

  ClusterModel model_;
  ClusterTopologies topologies_;
  std::set<std::string> unknown_;  // already logged
  std::list<Kept> kept_;           // most recently used first
  uint64_t sets_made_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_
