// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a daemon's teams are of the planner's cluster, and adopts the daemons' cluster if the store was lost.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "planner/coordinator/coordinator.h"

namespace copse::coordinator {

using schedule::Failure;
using schedule::FailureReport;

std::optional<FailureReport> Coordinator::ForeignRefusal(const schedule::Register& message) {
  const std::string& name = message.node.name;
  const bool holds_teams = std::any_of(message.teams.begin(), message.teams.end(),
                                       [](const schedule::RunningTeam& running) { return !running.broken; });
  if (holds_teams && cluster_->IsForeign(message.cluster)) {
    if (!cluster_->MayAdopt(clock_->Now() - started_ >= kSettle)) {
      cluster_->NoteRefused(message.cluster, name);
      return FailureReport{Failure::kPermission,
                           absl::StrCat("the planner belongs to cluster ", cluster_->uuid(),
                                        ", this daemon's teams to ", message.cluster, " (node=", name, ")"),
                           FailureCause::kNotPermitted, name};
    }
    COPSE_LOG(kWarning, "this planner is of the daemons' cluster: its store was lost (cluster=", message.cluster,
              ", was=", cluster_->uuid(), ", node=", name, ")");
    BecomeCluster(message.cluster);
  }
  cluster_->NoteAccepted(name);
  return std::nullopt;
}

void Coordinator::BecomeCluster(const std::string& uuid) {
  cluster_->Adopt(uuid);
  for (const auto& [name, node] : nodes_) {
    if (node.session == 0 || !node.announcement.features.contains(schedule::Feature::kCluster)) continue;
    outbox_.Send(node.session, schedule::Cluster{uuid});
  }
}

absl::StatusOr<ForeignTeams> Coordinator::FindForeign(const std::string& cluster) const {
  const std::vector<ForeignTeams> foreign = cluster_->foreign();
  std::vector<std::string> known;
  for (const ForeignTeams& teams : foreign) known.push_back(teams.cluster);
  const std::string list = known.empty() ? "none" : absl::StrJoin(known, ",");
  if (cluster.empty() && foreign.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("state: daemons of several clusters were refused; name one (clusters=", list, ")"));
  }
  for (const ForeignTeams& teams : foreign) {
    if (cluster.empty() || teams.cluster == cluster) return teams;
  }
  return absl::NotFoundError(absl::StrCat("state: no daemon was refused that holds teams of another cluster (cluster=",
                                          cluster.empty() ? "any" : cluster, ", refused=", list, ")"));
}

void Coordinator::AdoptCluster(const ForeignTeams& teams) {
  COPSE_LOG(kWarning, "an administrator has made this planner one of the daemons' cluster (cluster=", teams.cluster,
            ", was=", cluster_->uuid(), ", nodes=", absl::StrJoin(teams.nodes, ","), ")");
  // Teams of the former cluster may have the ids of those that are taken over.
  std::vector<TeamId> away;
  for (const auto& [id, team] : teams_) {
    const std::vector<schedule::TeamNode>& members = team.record.layout.nodes;
    const bool is_here = std::any_of(members.begin(), members.end(),
                                     [this](const schedule::TeamNode& member) { return LiveNode(member) != nullptr; });
    if (!is_here) away.push_back(id);
  }
  for (const TeamId id : away) {
    if (teams_.count(id) == 0) continue;
    COPSE_LOG(kWarning, "team ", id.value(), ": its record is dropped, since the planner leaves its cluster");
    if (teams_.at(id).durable()) outbox_.Record(DropTeam{id});
    Forget(id, /*has_ended=*/false);
  }
  BecomeCluster(teams.cluster);
  ids_->LeaveStore();
}

}  // namespace copse::coordinator
