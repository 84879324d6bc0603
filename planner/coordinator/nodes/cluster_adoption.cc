// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/cluster_adoption.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "planner/coordinator/interfaces/store.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {

using schedule::Failure;
using schedule::FailureReport;

std::optional<FailureReport> ClusterAdoption::RefusalOf(const schedule::Register& message, uint64_t term) {
  const std::string& name = message.node.name;
  const bool holds_teams = std::any_of(message.teams.begin(), message.teams.end(),
                                       [](const schedule::RunningTeam& running) { return !running.broken; });
  if (holds_teams && state_->cluster->IsForeign(message.cluster)) {
    if (!MayAdopt()) {
      state_->cluster->NoteRefused(message.cluster, name);
      return FailureReport{Failure::kPermission,
                           absl::StrCat("the planner belongs to cluster ", state_->cluster->uuid(),
                                        ", this daemon's teams to ", message.cluster, " (node=", name, ")"),
                           FailureCause::kNotPermitted, name};
    }
    COPSE_LOG(kWarning, "this planner is of the daemons' cluster: its store was lost (cluster=", message.cluster,
              ", was=", state_->cluster->uuid(), ", node=", name, ")");
    Become(message.cluster, term);
  }
  state_->cluster->NoteAccepted(name);
  return std::nullopt;
}

void ClusterAdoption::Become(const std::string& uuid, uint64_t known_term) {
  state_->cluster->Adopt(uuid);
  state_->ended = {};
  state_->ids->LeaveStore(known_term);
  formation_->Settle();
  for (const auto& [name, node] : state_->nodes.all()) {
    const SessionId session = node.session;
    if (session == 0) continue;
    if (node.announcement.features.contains(schedule::Feature::kCluster)) {
      state_->outbox.Send(session, schedule::Cluster{uuid});
    }
    if (!state_->nodes.SessionOf(session).has_foreign_teams) continue;
    state_->outbox.Close(session, "the planner's cluster is that of this daemon's teams now");
    end_session_(session);
  }
}

absl::StatusOr<ForeignTeams> ClusterAdoption::FindForeign(const std::string& cluster) const {
  const std::vector<ForeignTeams> foreign = state_->cluster->foreign();
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

void ClusterAdoption::Adopt(const ForeignTeams& teams) {
  COPSE_LOG(kWarning, "an administrator has made this planner one of the daemons' cluster (cluster=", teams.cluster,
            ", was=", state_->cluster->uuid(), ", nodes=", absl::StrJoin(teams.nodes, ","), ")");
  // Teams of the former cluster may have the ids of those that are taken over.
  std::vector<TeamId> away;
  for (const auto& [id, team] : state_->teams.all()) {
    const std::vector<schedule::TeamNode>& members = team.record.layout.nodes;
    const bool is_here = std::any_of(members.begin(), members.end(), [this](const schedule::TeamNode& member) {
      return state_->nodes.Live(member) != nullptr;
    });
    if (!is_here) away.push_back(id);
  }
  for (const TeamId id : away) {
    const Team* team = state_->teams.Find(id);
    if (team == nullptr) continue;
    COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(team->record.layout), "team ", id.value(),
                    ": its record is dropped, since the planner leaves its cluster");
    if (team->durable()) state_->outbox.Record(DropTeam{id});
    ends_->Forget(id, /*has_ended=*/false);
  }
  Become(teams.cluster, 0);
}

}  // namespace copse::coordinator
