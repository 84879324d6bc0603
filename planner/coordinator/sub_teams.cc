// SPDX-License-Identifier: Apache-2.0
//
// Issues ids for the sub-teams that daemons form among themselves, and adopts these teams from their reports.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "planner/coordinator/coordinator.h"

namespace copse::coordinator {
namespace {

// A daemon asks for the next ids when it has used half of these, so it can form at least half as many teams while the
// planner is away.
constexpr uint32_t kIdsPerRequest = 16384;

// Members report a team within the time that its formation may take, 10 s. One that is connected and has not reported
// it for longer has left it while it was not connected.
constexpr absl::Duration kReportTimeout = absl::Seconds(15);

}  // namespace

bool Coordinator::HasSubTeams(const Team& team) const {
  if (schedule::IsDerivedTeam(team.record.layout.identity)) return false;
  return std::all_of(team.record.layout.nodes.begin(), team.record.layout.nodes.end(),
                     [this](const schedule::TeamNode& member) {
                       const Node* node = LiveNode(member);
                       return node != nullptr && node->announcement.features.contains(schedule::Feature::kSubTeams);
                     });
}

void Coordinator::SendTeamIds(SessionId session) {
  if (sessions_.count(session) == 0) return;
  if (settles()) {
    timers_.Set(settled_at_, [this, session] { SendTeamIds(session); });
    return;
  }
  const absl::StatusOr<TeamId> first = ids_->NextTeams(kIdsPerRequest);
  if (!first.ok()) {  // the daemon leaves its sub-teams to this planner, which then names the error
    COPSE_LOG(kWarning, "session ", session, ": ", first.status().message());
    return;
  }
  outbox_.Send(session, schedule::TeamIds{*first, kIdsPerRequest});
}

absl::StatusOr<schedule::RunningTeam> Coordinator::Whole(const schedule::TeamFormed& message) const {
  schedule::RunningTeam running{.layout = message.layout, .epoch = EpochId{1}, .plans = message.plans};
  if (message.parent_epoch == EpochId{0}) return running;
  const auto it = teams_.find(message.layout.parent);
  if (it == teams_.end() || it->second.record.epoch == EpochId{0}) {
    return absl::NotFoundError(absl::StrCat("parent team ", message.layout.parent.value(), " is not known"));
  }
  const TeamRecord& parent = it->second.record;
  schedule::TeamLayout layout = message.layout;
  layout.nodes = parent.layout.nodes;
  layout.shape = parent.layout.shape;
  running.layout = std::move(layout);
  // Plans of another epoch are not kept; the team is then listed without plans.
  if (parent.epoch == message.parent_epoch) running.plans = parent.plans;
  return running;
}

void Coordinator::EndWaitForReports(TeamId id) {
  Team* team = TeamOf(id);
  for (uint32_t i = 0; team != nullptr && i < team->node_count(); ++i) {
    const Member& member = team->members[i];
    if (!member.remains() || !MayBeForming(*team, i) || LiveNode(team->record.layout.nodes[i]) == nullptr) continue;
    MarkLeft(*team, i);
    team = TeamOf(id);
  }
}

void Coordinator::OnTeamFormed(Node& node, const schedule::TeamFormed& message) {
  const TeamId id = message.layout.id;
  const auto ignore = [&](const std::string& why) {
    COPSE_LOG(kWarning, "node ", node.announcement.name, ": sub-team ", id.value(), " (",
              schedule::DescribeTeam(message.layout.identity), ") is not adopted: ", why);
  };
  if (!schedule::IsSubTeam(message.layout)) return ignore("it has no parent");
  Team* team = TeamOf(id);
  if (team == nullptr) {
    const absl::StatusOr<schedule::RunningTeam> running = Whole(message);
    if (!running.ok()) return ignore(std::string(running.status().message()));
    if (StandingOf(*running, node.announcement) != Standing::kWelcome) return ignore("it has ended, or is none");
    Adopt(*running, node.announcement.name, /*has_all_reports=*/false);
    team = TeamOf(id);
    timers_.Set(clock_->Now() + kReportTimeout, [this, id] { EndWaitForReports(id); });
  } else if (team->record.layout.identity != message.layout.identity ||
             team->record.layout.parent != message.layout.parent) {
    return ignore("another team has its id");
  } else if (team->record.plans.empty() && !message.plans.empty()) {
    team->record.plans = message.plans;
    VerifyLater(id);
  }
  const std::optional<uint32_t> member = MemberIndex(*team, node.announcement);
  if (!member.has_value()) return ignore("the node is not in it");
  node.teams.insert(id);
  // A daemon that registered while the team was formed has not named it, as if it had left.
  if (team->members[*member].left) team->members.MarkBack(*member);
  Reconcile(*team, *member, {.epoch = EpochId{1}});
  for (auto it = derived_teams_.lower_bound({id, Family::kCommon});
       it != derived_teams_.end() && it->first.first == id;) {
    const auto current = it++;
    if (!current->second.waiting.empty()) FormDerivedTeam(current->first);
  }
}

}  // namespace copse::coordinator
