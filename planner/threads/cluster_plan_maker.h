// SPDX-License-Identifier: Apache-2.0
//
// Implements coordinator::PlanMaker with the topology, costs and rules of this cluster.
#ifndef COPSE_PLANNER_THREADS_CLUSTER_PLAN_MAKER_H_
#define COPSE_PLANNER_THREADS_CLUSTER_PLAN_MAKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/planner.h"
#include "planner/rules.h"
#include "planner/threads/plan_cache.h"
#include "planner/threads/plan_task.h"
#include "planner/threads/plan_workers.h"
#include "planner/topology/topology.h"

namespace copse::planner {

struct ClusterModel {
  // Without a topology, all nodes are on one switch.
  std::optional<topology::Topology> topology;
  Rules rules;
  // It is the number of cores of this machine, on which all nodes run that the topology does not name. 0: every node is
  // another machine.
  uint32_t shared_cores = 0;
  // It has the number of cores by node name, as daemons report it. It is used if shared_cores is 0 and the topology has
  // neither cores nor a host for the node.
  std::map<std::string, uint32_t> announced_cores = {};
  // It names the nodes that are being drained: plans give them as little work as possible (kDrainingWeight).
  std::set<std::string> draining = {};
};

// The message costs of a draining node are multiplied by this factor while plans are made. It makes it likely that the
// node becomes a leaf, for which no other node waits.
inline constexpr int64_t kDrainingWeight = 8;

// Returns the topology from which plans for the nodes `names` are made: the model's, with each node that it does not
// name added to the root switch with default costs. Errors: those of Topology::Create.
absl::StatusOr<topology::Topology> ClusterTopology(const ClusterModel& model, const std::vector<std::string>& names);

// ClusterTopologies caches the last result of ClusterTopology, which is a copy of the whole topology. It is the same
// for all teams whose nodes the topology names, which is the usual case. Thread-compatible.
class ClusterTopologies {
 public:
  // Shared ownership keeps the topology for callers that still use it when a later call makes another one.
  using Shared = std::shared_ptr<const topology::Topology>;

  // Returns ClusterTopology's result. After a change of the model, Forget must be called first. The names that the
  // model's topology does not contain are appended to `*added`, unless it is null.
  absl::StatusOr<Shared> With(const ClusterModel& model, const std::vector<std::string>& names,
                              std::vector<std::string>* added = nullptr);
  void Forget() { kept_ = nullptr; }

 private:
  std::vector<std::string> added_;  // nodes added to kept_
  Shared kept_;
};

// Limits what administrators wait to have explained.
inline constexpr size_t kExplainingMax = 64;

// Limits the tasks for which better plans are made, or wait to be made.
inline constexpr size_t kBetterTasksMax = 64;

// PlanCounts counts sets of plans: those of one team. A set is made, or is there already: cached or being made.
struct PlanCounts {
  uint64_t sets_made = 0;
  uint64_t sets_reused = 0;
  uint64_t sets_quick = 0;  // made without pricing
  absl::Duration cpu;       // processor time that was spent making plans, on whichever thread
};

// A ClusterPlanMaker caches plans until the rules change, so that teams whose members are connected alike are planned
// once. A node that is not in the topology is logged once. Thread-compatible: only the planner's thread calls it.
class ClusterPlanMaker : public coordinator::PlanMaker {
 public:
  explicit ClusterPlanMaker(ClusterModel model) : model_(std::move(model)) {}
  // Makes plans on `*workers` instead of at once. With `better`, teams whose plans take long to make get quick ones,
  // and `*better` makes those of PlanBetter. Both must be destroyed before this object.
  void SetWorkers(PlanWorkers* workers, PlanWorkers* better = nullptr) {
    workers_ = workers;
    better_workers_ = better;
  }
  void SetRules(Rules rules) {
    model_.rules = std::move(rules);
    ++rules_number_;
    kept_.Clear();
  }
  void SetTopology(std::optional<topology::Topology> topology) {
    model_.topology = std::move(topology);
    topologies_.Forget();
    quick_.second = nullptr;
  }
  // Sets the number of cores that a daemon reports; it is used where the topology has none.
  void SetCores(const std::string& node, uint32_t cores) {
    if (std::exchange(model_.announced_cores[node], cores) == cores) return;
    topologies_.Forget();
    quick_.second = nullptr;
  }
  // Sets whether the node is being drained. Returns whether this is a change.
  bool SetDraining(const std::string& node, bool draining) {
    const bool is_change = draining ? model_.draining.insert(node).second : model_.draining.erase(node) > 0;
    if (is_change) quick_.second = nullptr;
    return is_change;
  }
  // Returns how often plans were made because the cache did not have them.
  uint64_t sets_made() const { return counts_.sets_made; }
  const PlanCounts& counts() const { return counts_; }
  const ClusterModel& model() const { return model_; }
  const std::optional<topology::Topology>& topology() const { return model_.topology; }

  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override;
  void MakePlansLater(const schedule::TeamLayout& layout, const coordinator::PlanOptions& options,
                      PlansDone done) override;
  // Returns nullopt without workers for better plans, for teams that are planned fast (IsPlannedFast), where a rule
  // wants an algorithm by cost, and if no plans can be made.
  std::optional<coordinator::FirstPlans> QuickPlans(const schedule::TeamLayout& layout) override;
  // Returns false without workers for better plans.
  bool IsQuick(const schedule::Plan& plan) const override { return better_workers_ != nullptr && IsQuickPlan(plan); }
  // At most kBetterTasksMax tasks are worked on; teams with equal tasks share one.
  void PlanBetter(const schedule::TeamLayout& layout, SavingsDone done) override;
  void DropBetter(TeamId team) override;

  absl::StatusOr<coordinator::PlanExplanation> Explain(const schedule::TeamLayout& layout, const schedule::Plan& plan,
                                                       Bytes bytes) override;

  absl::StatusOr<std::vector<std::string>> CriticalPath(const schedule::TeamLayout& layout,
                                                        const schedule::Plan& plan) override;

  // These work on a worker, in a turn of their own beside the users'. Errors, beside Explain's: RESOURCE_EXHAUSTED
  // while kExplainingMax wait.
  void ExplainLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, Bytes bytes,
                    ExplainDone done) override;
  void CriticalPathLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, PathDone done) override;

  // Prices a call of so many bytes (PredictedUsOfBytes), and does so on a worker, as ExplainLater works. Errors: those
  // of PredictedNs, and of ExplainLater.
  absl::StatusOr<double> Predict(const schedule::TeamLayout& layout, const schedule::Plan& plan, uint64_t bytes);
  using PredictDone = std::function<void(absl::StatusOr<double>)>;
  void PredictLater(const schedule::TeamLayout& layout, const schedule::Plan& plan, uint64_t bytes, PredictDone done);

  // Computes the largest predicted speed-up of any plan's typical call by new plans over `plans`; 1: none. Draining
  // nodes have the same weight as while plans are made. New plans are made as by MakePlansLater, and calls are priced
  // on a worker, too. `done` is called once, maybe before this returns. Errors: those of MakePlans and PredictedNs.
  using GainDone = std::function<void(absl::StatusOr<double>)>;
  void GainOfReplanning(const schedule::TeamLayout& layout, std::vector<schedule::Plan> plans, GainDone done);

  // Finds whether new plans would differ from `plans`, apart from ids and predictions. New plans are made as by
  // MakePlansLater. `done` is called once, maybe before this returns. Errors: those of MakePlans.
  using DifferDone = std::function<void(absl::StatusOr<bool>)>;
  void WouldDiffer(const schedule::TeamLayout& layout, std::vector<schedule::Plan> plans, DifferDone done);

  // Returns ClusterTopology for the current model.
  absl::StatusOr<ClusterTopologies::Shared> TopologyWith(const std::vector<std::string>& names);

 private:
  // Returns TopologyWith's result, with the overheads of draining nodes multiplied by kDrainingWeight.
  absl::StatusOr<ClusterTopologies::Shared> WeightedTopologyWith(const std::vector<std::string>& names);

  struct Explaining;
  absl::StatusOr<std::shared_ptr<Explaining>> StartExplaining(const schedule::TeamLayout& layout,
                                                              const schedule::Plan& plan, Bytes bytes);
  void EndExplaining(Explaining& explaining);
  // Runs `work` and then `done` as PlanWorkers::Run does, or at once without workers.
  absl::Status RunForAdministrators(std::function<void()> work, std::function<void()> done);

  absl::StatusOr<SharedTask> TaskOf(const schedule::TeamLayout& layout, const coordinator::PlanOptions& options);
  // Returns the task of a team that has quick plans, and forgets it if it is kept.
  absl::StatusOr<SharedTask> TakeQuickTaskOf(const schedule::TeamLayout& layout);
  // Returns the cached plans, which are reused now, or null.
  const std::vector<schedule::Plan>* FindKept(const PlanTask& task);

  // An Ordered is a task that is being worked on. Later ones that are equal wait for its result.
  struct Ordered {
    uint32_t user = 0;
    SharedTask task;
    std::vector<PlansDone> done;
  };
  void Order(std::list<Ordered>::iterator ordered);

  // A Better is a task for which better plans than the quick ones are made.
  struct Better {
    uint32_t user = 0;
    SharedTask task;
    std::map<TeamId, SavingsDone> waiting;
    std::shared_ptr<std::atomic<bool>> is_wanted;  // false: the worker skips the job, since no team waits
  };
  void OrderBetter(std::list<Better>::iterator better);

  ClusterModel model_;
  ClusterTopologies topologies_;
  std::set<std::string> unknown_;  // nodes that were logged as missing in the topology
  PlanCache kept_;
  PlanCounts counts_;
  PlanWorkers* workers_ = nullptr;
  std::list<Ordered> ordered_;
  PlanWorkers* better_workers_ = nullptr;
  std::list<Better> better_;
  // The last task of QuickPlans is kept for PlanBetter, since a large team's takes long to make. Null: it has taken it,
  // or the model has changed.
  std::pair<TeamId, SharedTask> quick_ = {TeamId{0}, nullptr};
  uint64_t rules_number_ = 0;  // grows with each change of the rules
  size_t explaining_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_CLUSTER_PLAN_MAKER_H_
