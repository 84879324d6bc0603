// SPDX-License-Identifier: Apache-2.0
//
// The planner as the coordinator wants it: topology, costs and rules of this cluster behind coordinator::PlanMaker.
#ifndef COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_
#define COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/coordinator/plan_maker.h"
#include "planner/planner.h"
#include "planner/topology/topology.h"

namespace copse::planner {

// Forced algorithms by collective.
using Rules = std::map<schedule::Collective, std::string>;

// The rules file:
//     version: 1
//     rules:
//       - {collective: allreduce, algorithm: knomial-4}
// INVALID_ARGUMENT "file:line: what: why (thing=value)": unknown key, collective or algorithm, two rules for one
// collective.
absl::StatusOr<Rules> ParseRules(std::string_view text, std::string_view filename);

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

// The first time that a node is not in the topology is logged.
// Thread-compatible: the planner's thread only.
class ClusterPlanMaker : public coordinator::PlanMaker {
 public:
  explicit ClusterPlanMaker(ClusterModel model) : model_(std::move(model)) {}
  void SetRules(Rules rules) { model_.rules = std::move(rules); }
  void SetTopology(std::optional<topology::Topology> topology) { model_.topology = std::move(topology); }
  // A daemon says how many cores its node has: that counts where the topology says nothing.
  void SetCores(const std::string& node, uint32_t cores) { model_.announced_cores[node] = cores; }
  // Whether it is being drained. True if that is new.
  bool SetDraining(const std::string& node, bool draining) {
    return draining ? model_.draining.insert(node).second : model_.draining.erase(node) > 0;
  }
  const ClusterModel& model() const { return model_; }
  const std::optional<topology::Topology>& topology() const { return model_.topology; }

  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override;
  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout& layout,
                                                       const schedule::Plan& plan) override;

  // By how many times the call is faster, for which new plans would gain most over `plans`, by their predictions. 1:
  // for none. Nodes that drain count as while plans are made. Errors: as MakePlans; a plan that cannot be priced any
  // more.
  absl::StatusOr<double> GainOfReplanning(const schedule::TeamLayout& layout, const std::vector<schedule::Plan>& plans);

  // As ClusterTopology.
  absl::StatusOr<topology::Topology> TopologyWith(const std::vector<std::string>& names);

 private:
  // TopologyWith, where nodes that drain are slow.
  absl::StatusOr<topology::Topology> WeightedTopologyWith(const std::vector<std::string>& names);

  ClusterModel model_;
  std::set<std::string> unknown_;  // logged before
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_CLUSTER_PLAN_MAKER_H_
