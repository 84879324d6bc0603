// SPDX-License-Identifier: Apache-2.0
//
// Keeps the versions of the topology, and switches teams to new plans when another version comes into force.
#ifndef COPSE_PLANNER_ADMIN_TOPOLOGY_HISTORY_H_
#define COPSE_PLANNER_ADMIN_TOPOLOGY_HISTORY_H_

#include <cstdint>
#include <deque>
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
#include "planner/threads/cluster_plan_maker.h"
#include "planner/threads/task_queue.h"
#include "planner/topology/topology.h"
#include "planner/topology/topology_changes.h"

namespace copse::planner {

// Limits the stored versions; the oldest are removed, except the newest one that came from the configuration's file,
// since the file is compared with it.
inline constexpr size_t kTopologyVersionsMax = 64;

// With this value of `gain_min`, a team is switched whenever new plans differ, regardless of their speed.
inline constexpr double kReplanIfOthers = 0;
// After a measurement, whose figures always differ from the previous ones, and at the drain of a node, a team is
// switched to new plans if some call's predicted speed-up is at least this.
inline constexpr double kReplanGainMin = 1.1;
// A switch that is blocked, since a node is away or another switch is in progress, is retried for this time.
inline constexpr absl::Duration kReplanPatience = absl::Seconds(15);

// A TopologyOutcome is the result of applying a topology. Teams that gain too little are in neither list.
struct TopologyOutcome {
  uint64_t version = 0;  // version in force now; 0: none ever was
  bool changed = false;  // false: an equal topology was in force, and nothing was done
  std::vector<TeamId> replanned;
  std::vector<std::pair<TeamId, absl::Status>> not_replanned;  // teams that keep their plans, with the reason
};

// A TopologyHistory follows one rule: the newest version is in force. Each import makes a version, and so does the
// configuration's file whenever its content differs from the last version that it made. So an import stays in force
// over reloads and restarts until the file changes, or another import is made. A version is in force when the
// coordinator has stored it; versions that are made meanwhile wait for their turn.
//
// Start is called first. Thread-compatible: only the planner's thread calls it. The objects behind the pointers must
// outlive this one, and its tasks in the queue.
class TopologyHistory {
 public:
  using Done = std::function<void(const absl::StatusOr<TopologyOutcome>&)>;

  TopologyHistory(ClusterPlanMaker* plan_maker, coordinator::Coordinator* coordinator, TaskQueue* queue)
      : plan_maker_(plan_maker), coordinator_(coordinator), queue_(queue) {}

  // Takes the coordinator's versions, makes one of the configuration's file if it has changed (nullopt: there is no
  // file), and puts the newest readable version into force. The file is not waited for: it would make the same version
  // at the next start. No team is replanned, since no node is connected yet.
  void Start(const std::string& path, const std::optional<topology::Topology>& topology);

  // Handles the configuration's file at a reload (nullopt: there is none): if it has changed, it is stored and put into
  // force, and affected teams are switched later. If the store has no room, that is logged, and nothing has changed.
  void ApplyFile(const std::string& path, const std::optional<topology::Topology>& topology);

  // Puts `topology` into force, unless an equal one is: it is stored with the date and `source` ("import yaml
  // cluster.yaml"), plans are made from it, and affected teams are switched to new plans. `done` is called once, maybe
  // before this returns: with RESOURCE_EXHAUSTED, and nothing has changed, if the store has no room for the topology;
  // otherwise when each of those teams runs its new epoch, or keeps the old one. Only teams whose predicted gain is at
  // least `gain_min` are switched; 1: all.
  void Apply(topology::Topology topology, const std::string& source, Done done, double gain_min = 1);

  // Puts rules into force. Teams for which rules have changed are switched if their plans would differ.
  void ApplyRules(Rules rules);

  // Handles the start or end of a node's drain: its teams are switched to new plans if they gain kReplanGainMin.
  void ReplanTeamsOf(const std::string& node);

  // Returns the versions in ascending order; the last one is in force.
  const std::vector<coordinator::TopologyVersion>& versions() const { return versions_; }
  uint64_t newest_version() const { return versions_.empty() ? 0 : versions_.back().version; }  // 0: none ever was
  const std::optional<topology::Topology>& in_force() const { return plan_maker_->topology(); }
  // Returns the topology of a version; nullopt: all nodes were on one switch. Errors: NOT_FOUND if there is no such
  // version or it is no longer kept; FAILED_PRECONDITION if it cannot be read.
  absl::StatusOr<std::optional<topology::Topology>> Version(uint64_t version) const;

 private:
  struct Replanning;
  // A New is a topology that is to be the next version.
  struct New {
    std::optional<topology::Topology> topology;
    std::string source;
    bool from_file = false;
    double gain_min = 1;
    Done done;
  };

  // Returns whether the configuration's file equals the last version that came from it.
  bool IsKnownFile(const std::optional<topology::Topology>& topology) const;
  coordinator::TopologyVersion NextVersion(const New& next) const;
  // Stores the first of `new_`.
  void StoreNext();
  void OnStored(const absl::Status& status, coordinator::TopologyVersion version);
  // Makes it the newest version, and drops old ones.
  void Append(coordinator::TopologyVersion version);
  // Returns the ready teams for which `concerned` returns true, without sub-teams, which cannot be switched. A team
  // that is forming is not switched either.
  std::vector<TeamId> ReadyTeams(const std::function<bool(const coordinator::TeamInfo&)>& concerned) const;
  // Switches the teams that gain `gain_min`, which is found for one team after the other. `done` is called with
  // `outcome`, completed with the teams' results.
  void Switch(std::vector<TeamId> teams, double gain_min, TopologyOutcome outcome, Done done);
  // Calls `then` once, maybe before this returns, with whether the team gains `gain_min`.
  void FindWorth(TeamId team, double gain_min, std::function<void(bool)> then) const;
  void PutInForce(std::optional<topology::Topology> topology, double gain_min, Done done);

  ClusterPlanMaker* const plan_maker_;
  coordinator::Coordinator* const coordinator_;
  TaskQueue* const queue_;
  std::vector<coordinator::TopologyVersion> versions_;
  std::deque<New> new_;  // the first is being stored
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_TOPOLOGY_HISTORY_H_
