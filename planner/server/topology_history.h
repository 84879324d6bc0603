// SPDX-License-Identifier: Apache-2.0
//
// The versions of the topology, the one in force, and the switch from one to another.
#ifndef COPSE_PLANNER_SERVER_TOPOLOGY_HISTORY_H_
#define COPSE_PLANNER_SERVER_TOPOLOGY_HISTORY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/coordinator/coordinator.h"
#include "planner/rules.h"
#include "planner/server/cluster_plan_maker.h"
#include "planner/server/task_queue.h"
#include "planner/server/topology_store.h"
#include "planner/topology/topology.h"
#include "planner/topology/topology_changes.h"

namespace copse::planner {

// Limit of stored versions. The newest one of the configuration's file is kept longer, since the file is compared to
// it.
inline constexpr size_t kTopologyVersionsMax = 64;

// A gain with the meaning: switch whenever new plans differ, regardless of their speed.
inline constexpr double kReplanIfOthers = 0;
// For measured topologies, whose figures always differ: a team is switched to new plans if these speed up some call by
// this factor, as predicted.
inline constexpr double kReplanGainMin = 1.1;
// How long a blocked switch is retried: a node is away, or another switch is under way.
inline constexpr absl::Duration kReplanPatience = absl::Seconds(15);

// TopologyOutcome is the result of applying a topology.
struct TopologyOutcome {
  uint64_t version = 0;  // in force now; 0: none ever was
  bool changed = false;  // false: the same was in force, and nothing was done
  std::vector<TeamId> replanned;
  std::vector<std::pair<TeamId, absl::Status>> not_replanned;  // they continue with their plans
};

// A TopologyHistory follows one rule: the newest version is in force. An import is a version, and the configuration's
// file becomes one whenever its content differs from its last version; so an import outlives reloads and restarts until
// the file changes, or another import is made.
//
// Calls: Start, then any. Single-threaded: the planner's thread. All pointers must outlive it.
class TopologyHistory {
 public:
  TopologyHistory(TopologyStore* store, ClusterPlanMaker* plan_maker, coordinator::Coordinator* coordinator,
                  TaskQueue* queue)
      : store_(store), plan_maker_(plan_maker), coordinator_(coordinator), queue_(queue) {}

  // Loads the versions, applies the rule of ApplyFile to the configuration's file, and puts the newest readable version
  // into force. No team is replanned: none is connected.
  absl::Status Start(const std::string& path, const std::optional<topology::Topology>& topology);

  // Handles the configuration's file at a reload; nothing: there is none.
  absl::Status ApplyFile(const std::string& path, const std::optional<topology::Topology>& topology);

  // Puts `topology` into force from now on: it is stored with the date and `source` ("import yaml cluster.yaml", "probe
  // 12 nodes"), plans are made from it, and affected teams are switched to new plans, one after the other. `done` is
  // called once, maybe before this returns: with an error, and nothing has changed, if it cannot be stored; else when
  // the last of those teams runs its new epoch, or keeps the old one. Only teams that gain `gain_min` (see
  // kReplanGainMin) are switched; 1: all.
  void Apply(topology::Topology topology, const std::string& source,
             std::function<void(const absl::StatusOr<TopologyOutcome>&)> done, double gain_min = 1);

  // Puts rules into force. Teams whose rules have changed are switched, if that changes their plans.
  void ApplyRules(Rules rules);

  // Handles the start or end of a node's drain: its teams are switched to new plans if they gain kReplanGainMin.
  void ReplanTeamsOf(const std::string& node);

  // The newest version is the last.
  const std::vector<TopologyVersion>& versions() const { return versions_; }
  uint64_t newest_version() const { return versions_.empty() ? 0 : versions_.back().version; }  // 0: none ever was
  const std::optional<topology::Topology>& in_force() const { return plan_maker_->topology(); }
  // Errors: NOT_FOUND: the version never was or is no longer kept. FAILED_PRECONDITION: it cannot be read.
  absl::StatusOr<std::optional<topology::Topology>> Version(uint64_t version) const;

 private:
  struct Replanning;

  // Returns whether the configuration's file equals its last version.
  bool IsKnownFile(const std::optional<topology::Topology>& topology) const;
  absl::Status Store(const std::optional<topology::Topology>& topology, const std::string& source, bool from_file);
  // Returns the ready teams for which `concerned` holds. Sub-teams are switched with their parents; a team that is
  // forming gets its plans later.
  std::vector<TeamId> ReadyTeams(const std::function<bool(const coordinator::TeamInfo&)>& concerned) const;
  std::vector<schedule::Plan> PlansOf(TeamId team) const;
  // Switches teams one after the other; `done` gets `outcome`, completed with their results.
  void Switch(std::vector<TeamId> teams, double gain_min, TopologyOutcome outcome,
              std::function<void(const absl::StatusOr<TopologyOutcome>&)> done);
  bool IsWorthSwitching(TeamId team, double gain_min) const;
  void PutInForce(std::optional<topology::Topology> topology, double gain_min,
                  std::function<void(const absl::StatusOr<TopologyOutcome>&)> done);

  TopologyStore* const store_;
  ClusterPlanMaker* const plan_maker_;
  coordinator::Coordinator* const coordinator_;
  TaskQueue* const queue_;
  std::vector<TopologyVersion> versions_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TOPOLOGY_HISTORY_H_
