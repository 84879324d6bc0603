// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/teams/sub_teams.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {
namespace {

// A daemon asks for the next ids when it has used half of these, so it can form at least half as many teams while the
// planner is away.
constexpr uint32_t kIdsPerRequest = 16384;

// Members report a team within the time that its formation may take, 10 s. One that is connected and has not reported
// it for longer has left it while it was not connected.
constexpr absl::Duration kReportTimeout = absl::Seconds(15);

}  // namespace

void SubTeams::SendTeamIds(SessionId session) {
  if (state_->nodes.FindSession(session) == nullptr) return;
  if (state_->settles()) {
    state_->timers.Set(state_->settled_at, [this, session] { SendTeamIds(session); });
    return;
  }
  const absl::StatusOr<TeamId> first = state_->ids->NextTeams(kIdsPerRequest);
  if (!first.ok()) {  // the daemon leaves its sub-teams to this planner, which then names the error
    COPSE_LOG(kWarning, "session ", session, ": ", first.status().message());
    return;
  }
  state_->outbox.Send(session, schedule::TeamIds{*first, kIdsPerRequest});
}

absl::StatusOr<schedule::RunningTeam> SubTeams::Whole(const schedule::TeamFormed& message) const {
  schedule::RunningTeam running{.layout = message.layout, .epoch = EpochId{1}, .plans = message.plans};
  if (message.parent_epoch == EpochId{0}) return running;
  const Team* team = state_->teams.Find(message.layout.parent);
  if (team == nullptr || team->record.epoch == EpochId{0}) {
    return absl::NotFoundError(absl::StrCat("parent team ", message.layout.parent.value(), " is not known"));
  }
  const TeamRecord& parent = team->record;
  schedule::TeamLayout layout = message.layout;
  layout.nodes = parent.layout.nodes;
  layout.shape = parent.layout.shape;
  running.layout = std::move(layout);
  // Plans of another epoch are not kept; the team is then listed without plans.
  if (parent.epoch == message.parent_epoch) running.plans = parent.plans;
  return running;
}

void SubTeams::EndWaitForReports(TeamId id) {
  Team* team = state_->teams.Find(id);
  for (uint32_t i = 0; team != nullptr && i < team->node_count(); ++i) {
    const Member& member = team->members[i];
    if (!member.remains() || !team->MayBeForming(i) || state_->nodes.Live(team->record.layout.nodes[i]) == nullptr)
      continue;
    ends_->MarkLeft(*team, i);
    team = state_->teams.Find(id);
  }
}

void SubTeams::OnTeamFormed(Node& node, const schedule::TeamFormed& message) {
  const TeamId id = message.layout.id;
  const auto ignore = [&](const std::string& why) {
    COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(id, message.layout.identity, node.announcement.name), "node ",
                    node.announcement.name, ": sub-team ", id.value(), " (",
                    schedule::DescribeTeam(message.layout.identity), ") is not adopted: ", why);
  };
  if (!schedule::IsSubTeam(message.layout)) return ignore("it has no parent");
  Team* team = state_->teams.Find(id);
  if (team == nullptr) {
    const absl::StatusOr<schedule::RunningTeam> running = Whole(message);
    if (!running.ok()) return ignore(std::string(running.status().message()));
    if (reunion_->StandingOf(*running, node.announcement) != Standing::kWelcome)
      return ignore("it has ended, or is none");
    reunion_->Adopt(*running, node.announcement.name, /*has_all_reports=*/false);
    team = state_->teams.Find(id);
    state_->timers.Set(state_->Now() + kReportTimeout, [this, id] { EndWaitForReports(id); });
  } else if (team->record.layout.identity != message.layout.identity ||
             team->record.layout.parent != message.layout.parent) {
    return ignore("another team has its id");
  } else if (team->record.plans.empty() && !message.plans.empty()) {
    team->record.plans = message.plans;
    state_->teams.VerifyLater(id);
  }
  const std::optional<uint32_t> member = team->MemberOf(node.announcement);
  if (!member.has_value()) return ignore("the node is not in it");
  node.teams.insert(id);
  // A daemon that registered while the team was formed has not named it, as if it had left.
  if (team->members[*member].left) team->members.MarkBack(*member);
  reunion_->Reconcile(*team, *member, {.epoch = EpochId{1}});
  derived_->FormThoseOf(id);
}

}  // namespace copse::coordinator
