// SPDX-License-Identifier: Apache-2.0
//
// Which topology is in force, which were, and what happens when one takes the place of another.
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

// How many versions are kept. The newest of the configuration's file is kept longer, since the file is compared to it.
inline constexpr size_t kTopologyVersionsMax = 64;

// A gain that stands for: whenever new plans are others, however fast.
inline constexpr double kReplanIfOthers = 0;
// For measured topologies, whose figures are others every time: a team is switched to new plans if these make some call
// so many times as fast, by its prediction.
inline constexpr double kReplanGainMin = 1.1;
// How long a switch is tried for that cannot be made now: a node is away, or another switch is under way.
inline constexpr absl::Duration kReplanPatience = absl::Seconds(15);

// What came of a topology that was applied.
struct TopologyOutcome {
  uint64_t version = 0;  // in force now; 0: none ever was
  bool changed = false;  // false: the same was in force, and nothing was done
  std::vector<TeamId> replanned;
  std::vector<TeamId> kept;                                    // new plans would hardly be better
  std::vector<std::pair<TeamId, absl::Status>> not_replanned;  // they go on with the plans they have
};

// A TopologyHistory decides by one rule: the newest version is in force. An import is a version, and the
// configuration's file is one whenever it reads otherwise than it did when it last was one; so an import outlives
// reloads and restarts until somebody changes the file, or imports again.
//
// Calls: Start, then any. Single-threaded: the planner's thread. All pointers outlive it.
class TopologyHistory {
 public:
  TopologyHistory(TopologyStore* store, ClusterPlanMaker* plan_maker, coordinator::Coordinator* coordinator,
                  TaskQueue* queue)
      : store_(store), plan_maker_(plan_maker), coordinator_(coordinator), queue_(queue) {}

  // Loads the versions, takes note of the configuration's file as ApplyFile does, and puts the newest version into
  // force that can be read. No team is replanned: none is connected.
  absl::Status Start(const std::string& path, const std::optional<topology::Topology>& topology);

  // What the configuration's file says at a reload; nothing: there is none.
  absl::Status ApplyFile(const std::string& path, const std::optional<topology::Topology>& topology);

  // Puts `topology` into force from now on: it is stored with the date and `source` ("import yaml cluster.yaml",
  // "probe 12 nodes"), plans are made from it, and teams that it concerns are switched to new plans, one after the
  // other. `done` is called once, maybe before this returns: with an error, and nothing has changed, if it cannot be
  // stored; else when the last of those teams runs its new epoch, or stays with the old.
  // Of those teams, only the ones are switched that gain `gain_min` (as kReplanGainMin); 1: all.
  void Apply(topology::Topology topology, const std::string& source,
             std::function<void(const absl::StatusOr<TopologyOutcome>&)> done, double gain_min = 1);

  // Puts rules into force. Teams for which they say something else than before are switched, if that makes other plans.
  void ApplyRules(Rules rules);

  // A node is drained, or no longer: teams of it are switched to new plans if they gain kReplanGainMin.
  void ReplanTeamsOf(const std::string& node);

  // The newest last.
  const std::vector<TopologyVersion>& versions() const { return versions_; }
  const std::optional<topology::Topology>& in_force() const { return plan_maker_->topology(); }
  // NOT_FOUND: it never was or is no longer kept. FAILED_PRECONDITION: it cannot be read.
  absl::StatusOr<std::optional<topology::Topology>> Version(uint64_t version) const;

 private:
  struct Replanning;

  // Whether the configuration's file says the same as when it last was a version.
  bool IsKnownFile(const std::optional<topology::Topology>& topology) const;
  absl::Status Store(const std::optional<topology::Topology>& topology, const std::string& source, bool from_file);
  // Ready teams for which the two models differ.
  std::vector<TeamId> Concerned(const ClusterModel& before, const ClusterModel& after) const;
  // Switches teams one after the other; `outcome` goes to `done`, with what became of them.
  void Switch(std::vector<TeamId> teams, double gain_min, TopologyOutcome outcome,
              std::function<void(const absl::StatusOr<TopologyOutcome>&)> done);
  // Whether new plans would be others than the team has.
  bool WouldChange(TeamId team) const;
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
