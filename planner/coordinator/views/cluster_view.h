// SPDX-License-Identifier: Apache-2.0
//
// Shows nodes, teams and plans to administrators.
#ifndef COPSE_PLANNER_COORDINATOR_VIEWS_CLUSTER_VIEW_H_
#define COPSE_PLANNER_COORDINATOR_VIEWS_CLUSTER_VIEW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/views/call_merge.h"
#include "planner/coordinator/views/daemon_queries.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::coordinator {

// NodeInfo describes a node. The pointer is valid until the next event.
struct NodeInfo {
  const schedule::NodeAnnouncement* announcement = nullptr;
  // It is "ready"; "draining": the node takes no new teams; "away": it has no stream, but its teams may continue;
  // "lost": it has no stream, and other nodes report that its daemon is gone or cut off.
  std::string state;
  std::string why;  // why it is draining, as the administrator said
  bool connected = false;
  uint32_t ranks = 0;      // its ranks in teams without a parent
  double last_seen_s = 0;  // seconds since its stream ended; 0 while connected
};
// ReportInfo is what a connected daemon said of itself last. The pointer is valid until the next event.
struct ReportInfo {
  const std::string* node = nullptr;
  const schedule::StatusReport* report = nullptr;  // null: daemons of earlier versions say nothing
  absl::Duration age;
};
struct TeamInfo {
  schedule::TeamLayout layout;  // while joins are gathered, only identity and parent are set
  uint32_t size = 0;
  EpochId epoch{0};
  std::string state;  // "forming", "ready", "broken"; "ended", or "broken" if it was
  std::string why;    // the reason, if broken; of a ready team, that its plans are not known
  std::optional<absl::Duration> ended_ago;
};
struct PlanInfo {
  schedule::TeamLayout layout;
  EpochId epoch{0};
  schedule::Plan plan;
};

// ListedPlan is a plan as its team has it. The pointers are valid until the next event.
struct ListedPlan {
  PlanId id{0};
  EpochId epoch{0};
  const schedule::TeamLayout* layout = nullptr;
  const std::string* encoded = nullptr;  // EncodePlan; null: not known, until a daemon that has it registers
};

// A ClusterView reads a coordinator's state. Errors of its methods, one line each: NOT_FOUND; of a plan of which only
// the id is known, FAILED_PRECONDITION.
class ClusterView {
 public:
  // Both outlive this object.
  ClusterView(const State* state, const JoinTable* joins) : state_(state), joins_(joins) {}

  std::vector<NodeInfo> Nodes() const;  // by name
  absl::StatusOr<NodeInfo> FindNode(const std::string& name) const;
  std::vector<ReportInfo> Reports() const;  // of connected nodes, by name
  // Returns nullopt if the node is not connected.
  std::optional<ReportInfo> FindReport(const std::string& name) const;
  // Returns NodeInfo::state, or nullopt if this incarnation is not connected. It does not look at the node's teams.
  std::optional<std::string> StateIfConnected(const std::string& name, Incarnation incarnation) const;
  std::vector<TeamInfo> Teams() const;  // by id
  absl::StatusOr<TeamInfo> FindTeam(TeamId team) const;
  std::vector<PlanInfo> Plans() const;  // by id
  absl::StatusOr<PlanInfo> FindPlan(PlanId plan) const;
  std::vector<schedule::Plan> PlansOfTeam(TeamId team) const;  // by id; none if the team is not known
  // These return one row of these lists after another, for callers that let other work run in between: the first
  // after `last`, or nullopt at the end. What comes or goes meanwhile is or is not returned.
  std::optional<NodeInfo> NodeAfter(const std::string& last) const;  // "": the first one
  // `last` is a team that was returned, with id, identity and parent; null: the first one. Those whose joins are being
  // gathered come first, and have id 0.
  std::optional<TeamInfo> TeamAfter(const schedule::TeamLayout* last) const;
  // Returns only teams that have an id. 0: the first one.
  std::optional<TeamInfo> IdentifiedTeamAfter(TeamId last) const;
  // `*last` is the number of the team that was returned before, and is set to this one's; 0: the first one.
  std::optional<TeamInfo> EndedTeamAfter(uint64_t* last) const;
  // Plans of teams for which `wanted` is false are passed over. The cursor is moved to the plan.
  std::optional<ListedPlan> PlanAfter(PlanCursor* last,
                                      const std::function<bool(const schedule::TeamLayout&)>& wanted) const;
  // Call `done` once, maybe before they return, and not after the coordinator has ended.
  void Explain(PlanId plan, PlanMaker::Bytes bytes, PlanMaker::ExplainDone done) const;
  void CriticalPath(PlanId plan, PlanMaker::PathDone done) const;
  // Return how many nodes and teams, derived ones included, are in each state; states that none is in are there, too.
  std::map<std::string, uint64_t> NodesByState() const;
  std::map<std::string, uint64_t> TeamsByState() const;
  // Returns the calls in flight, sorted by (team, awaited class, sequence). A rank is missing if no node reports that
  // it has joined, and a node reports that it has not, or its node has not replied.
  std::vector<CollectiveInfo> MergeCalls(const StatusAnswer& answer) const;
  // Removes the next call of `*merge` and returns it as MergeCalls does, or nullopt if there is none.
  std::optional<CollectiveInfo> NextCall(CallMerge* merge) const;

 private:
  // Returns nullopt if the plan is not known.
  std::optional<ListedPlan> ListPlan(PlanId plan) const;

  const State* const state_;
  const JoinTable* const joins_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_VIEWS_CLUSTER_VIEW_H_
