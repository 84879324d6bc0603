// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team_registry.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "protocol/log_subject.h"
#include "schedule/folds.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

namespace {

// Limits the farewells; the newest are kept. Each has a team's whole layout, and every Register carries all of them.
constexpr size_t kFarewellsMax = 64;

// The planner hears this often which teams are here.
constexpr absl::Duration kListInterval = absl::Minutes(1);

// A list that comes earlier, since other calls are in flight for long, comes this long after the last look at them.
constexpr absl::Duration kLongCallsInterval = absl::Seconds(10);

// Returns a part of the interval, so that the nodes of a cluster that started at once do not list their teams at once.
absl::Duration FirstWait(Incarnation self, absl::Duration interval) {
  return absl::Nanoseconds(self.value() % static_cast<uint64_t>(absl::ToInt64Nanoseconds(interval)));
}

}  // namespace

TeamRegistry::TeamRegistry(const RegistryParts& parts)
    : parts_(parts),
      formations_(&parts_, &teams_, &sub_teams_),
      derived_(&parts_, &teams_, &formations_),
      sub_teams_(&parts_, parts_.host, &teams_, &formations_, this),
      order_(parts.host, &parts.options->node.name),
      next_list_(parts.clock->Now() + FirstWait(parts.options->node.incarnation, kListInterval)),
      next_look_(parts.clock->Now() + FirstWait(parts.options->node.incarnation, kLongCallsInterval)) {}

std::vector<schedule::RunningTeam> TeamRegistry::RunningTeams() const {
  std::vector<schedule::RunningTeam> running;
  for (const auto& [id, team] : teams_) {
    if (sub_teams_.IsForming(id)) continue;  // it is not the planner's to decide
    running.push_back(Describe(*team));
    running.back().plans = team->EncodedPlans();
  }
  running.insert(running.end(), farewells_.begin(), farewells_.end());
  return running;
}

void TeamRegistry::OnRegistered(const schedule::Registered& m) {
  for (const TeamId id : m.forgotten) {
    On(schedule::EndTeam{.team = id});
    if (Team* team = teams_.Find(id)) {
      team->Break({Failure::kMemberLost, "the planner has ended this team while it could not be reached"});
    }
  }
  for (const schedule::RunningTeam& left : farewells_) {
    parts_.planner->Send(schedule::LeaveTeam{.team = left.layout->id});
  }
  sub_teams_.OnRegistered(m);
  formations_.OnRegistered();
  derived_.AskAgain();
}

void TeamRegistry::Post(const Membership& membership, CallPost&& post) {
  const Rank rank = membership.rank;
  Team* team = teams_.Find(membership.team);
  CHECK(team != nullptr);
  // The clients' side has checked the arguments (collectives/call_check.h).
  DCHECK(static_cast<int>(post.arguments.collective) < kCollectiveCount);
  const uint32_t pending_max = parts_.options->pending_calls_max;
  const Family family = schedule::FamilyOfCall(post.arguments);
  const bool common = family == Family::kCommon;
  const bool has_room = common ? team->HasRoom(rank, pending_max) : derived_.HasRoom(*team, family, rank, pending_max);
  if (!team->broken() && has_room) {
    if (const auto why = order_.Note(*team, rank, post.arguments)) team->Break(*why);
  }
  if (common || team->broken()) {
    team->Post(rank, std::move(post), pending_max);
  } else {
    derived_.Post(team, rank, std::move(post), pending_max);
  }
  teams_.Pump();
}

bool TeamRegistry::Idle() const {
  return !derived_.HasCallWaiting() &&
         std::none_of(teams_.begin(), teams_.end(), [](const auto& entry) { return entry.second->HasCallInFlight(); });
}

void TeamRegistry::CompareCalls(const Team& team) const {
  const bool derived = schedule::IsDerivedTeam(team.layout().identity);
  if (const Team* of = derived ? teams_.ParentOf(team) : &team) order_.AskNeighbors(*of);
}

void TeamRegistry::Tick(absl::Duration since_last) {
  formations_.FailWithoutPlanner();
  sub_teams_.Tick();
  SayTeams();
  const CoreOptions& options = *parts_.options;
  for (const auto& [id, team] : teams_) {
    if (team->ProbeStalled(options.stall_probe)) CompareCalls(*team);
    if (team->IsHeld()) held_ += since_last;
    if (team->AskForDecision(std::min(options.decision_ask, options.node_timeout / 4))) {
      parts_.planner->Send(schedule::EpochQuery{.team = id, .epoch = team->prepared_epoch()});
    }
  }
}

void TeamRegistry::SayTeams() {
  const absl::Time now = parts_.clock->Now();
  if (!parts_.planner->Has(schedule::Feature::kTeamsHeld)) return;
  if (!HasOtherLongCalls(now) && now < next_list_) return;
  next_list_ = now + kListInterval;
  schedule::TeamsHeld held;
  for (const auto& [id, team] : teams_) held.teams.push_back(id);
  for (const schedule::RunningTeam& left : farewells_) held.teams.push_back(left.layout->id);
  parts_.planner->Send(held);
}

bool TeamRegistry::HasOtherLongCalls(absl::Time now) {
  if (now < next_look_) return false;
  next_look_ = now + kLongCallsInterval;
  schedule::DaemonStatus status;
  AppendStatus(&status);
  std::set<CallKey> calls;
  for (const schedule::CallStatus& call : status.calls) {
    if (schedule::IsLong(call)) calls.emplace(call.team, call.waits_for, call.sequence);
  }
  return std::exchange(long_calls_, calls) != calls;
}

void TeamRegistry::AppendStatus(schedule::DaemonStatus* status) const {
  sub_teams_.AppendStatus(status);
  for (const auto& [id, team] : teams_) {
    const size_t before = status->progress.size();
    team->AppendStatus(status);
    if (schedule::IsDerivedTeam(team->layout().identity)) continue;  // its ranks are counted with its parent
    ++status->teams;
    status->ranks += static_cast<uint32_t>(status->progress.size() - before);
  }
  derived_.AppendStatus(status);
  status->counters["calls.held_ms"] = static_cast<uint64_t>(absl::ToInt64Milliseconds(held_));
}

void TeamRegistry::CheckInvariants() const {
  formations_.CheckInvariants();
  sub_teams_.CheckInvariants();
  for (const auto& [id, team] : teams_) {
    team->CheckInvariants();
    const bool derived = schedule::IsDerivedTeam(team->layout().identity);
    CHECK(!derived || teams_.ParentOf(*team) != nullptr);  // a team and its derived teams are removed together
    for (const Rank rank : team->members().ranks()) {
      const std::optional<ClientId> client = team->members().ClientOf(rank);
      CHECK(!client || parts_.clients->Find(*client) != nullptr);
    }
  }
}

bool TeamRegistry::HasCallInFlight(const Team& team, Rank rank) const {
  if (team.HasCallInFlight(rank) || derived_.HasCallWaiting(team.id(), rank)) return true;
  const std::vector<TeamId> derived = derived_.Of(team.id());
  return std::any_of(derived.begin(), derived.end(), [&](TeamId id) { return teams_.Find(id)->HasCallInFlight(rank); });
}

void TeamRegistry::Leave(Team* team, Rank rank) {
  derived_.MemberLeft(team->id(), rank);
  for (const TeamId id : derived_.Of(team->id())) teams_.Find(id)->Leave(rank);
  if (!team->Leave(rank)) return;
  // For the planner, LeaveTeam is also the end of all derived teams at this node.
  SayLeft(*team);
  for (const TeamId id : derived_.Of(team->id())) teams_.Remove(id);
  derived_.Forget(team->id());
  order_.Forget(team->id());
  sub_teams_.ParentLeft(*team);
  teams_.Remove(team->id());
}

void TeamRegistry::SayLeft(const Team& team) {
  if (sub_teams_.IsUnreported(team.id())) return;
  parts_.planner->Send(schedule::LeaveTeam{.team = team.id()});
  if (!team.broken()) return;
  if (farewells_.size() >= kFarewellsMax) farewells_.erase(farewells_.begin());
  farewells_.push_back(Describe(team));
}

schedule::RunningTeam TeamRegistry::Describe(const Team& team) {
  return {.layout = team.shared_layout()->shared(),
          .epoch = team.epoch(),
          .broken = team.broken().has_value(),
          .why = team.broken().value_or(FailureReport{}),
          .prepared_epoch = team.prepared_epoch()};
}

void TeamRegistry::OnBroken(TeamId id, const FailureReport& why) {
  const Team* const team = teams_.Find(id);
  sub_teams_.ReportFormed(schedule::IsDerivedTeam(team->layout().identity) ? team->layout().parent : id);
  if (!sub_teams_.IsForming(id)) parts_.planner->Send(schedule::TeamBroken{.team = id, .why = why});
  if (schedule::IsDerivedTeam(team->layout().identity)) {
    if (Team* of = teams_.ParentOf(*team)) of->Break(why);
    return;
  }
  derived_.FailWaiting(id, why);
  formations_.FailJoinsOf(id, why);
  sub_teams_.ParentBroken(id, why);
  for (const TeamId derived : derived_.Of(id)) teams_.Find(derived)->Break(why);
}

void TeamRegistry::OnFormed(Team* team) {
  if (schedule::IsDerivedTeam(team->layout().identity)) derived_.Committed(team, parts_.options->pending_calls_max);
  sub_teams_.NoteFormed(*team);
  const std::optional<Rank> gone = formations_.Committed(team);
  teams_.Pump();
  if (!gone) return;
  team->Break({Failure::kMemberLost,
               absl::StrCat("rank ", gone->value(), " on node ", node_name(),
                            " lost: its process went away while the team was formed"),
               FailureCause::kProcessDied, node_name(), *gone});
  // The ranks that are gone have not joined the team, so one Leave is enough; the team ends if no rank has joined.
  Leave(team, *gone);
}

void TeamRegistry::RemoveBrokenFormations() {
  if (!formations_.AnyForming()) return;  // the usual case in DaemonCore::Progress
  for (const TeamId id : formations_.FailBroken()) {
    const Team& team = *teams_.Find(id);
    if (sub_teams_.IsForming(id)) {
      const FailureReport why = *team.broken();
      sub_teams_.Broken(id, why);
    } else {
      SayLeft(team);
    }
    sub_teams_.Forget(id);
    teams_.Remove(id);
  }
}

void TeamRegistry::On(const CheckedPrepare& m) {
  Team* team = teams_.Find(m.head.id);
  FailureReport why;
  if (team == nullptr && m.epoch != EpochId{1}) {  // an epoch switch that was sent before LeaveTeam arrived
    why = {Failure::kMemberLost, absl::StrCat("node ", node_name(), ": has left the team"), FailureCause::kMemberLeft,
           node_name()};
  } else if (team != nullptr && (!m.layout.ok() || !IsSameTeam(*team->shared_layout(), **m.layout))) {
    why = {Failure::kInvalidArgument,
           absl::StrCat("node ", node_name(), ": another layout than before for ",
                        schedule::DescribeTeam(m.head.identity), " (team=", m.head.id.value(), ")")};
  }
  if (why.failure != Failure::kNone) {
    return parts_.planner->Send(schedule::PrepareReply{.team = m.head.id, .epoch = m.epoch, .why = std::move(why)});
  }
  if (team == nullptr) {
    team = Add(m, &why);
    if (team == nullptr) return Refuse(m, std::move(why));
  } else {
    team->LearnAddresses(*m.layout);
  }
  schedule::PrepareReply reply = team->Prepare(m.epoch, m.plans);
  const bool is_new = !team->ready() && !team->broken();
  if (!reply.accepted && is_new) {
    Refuse(m, reply.why);
    formations_.Refused(m.head.id);
    teams_.Remove(m.head.id);
    return;
  }
  if (!reply.accepted) reply.why.text = absl::StrCat("node ", node_name(), ": ", reply.why.text);
  if (is_new && schedule::IsDerivedTeam(m.head.identity)) derived_.Prepared(*team);
  if (is_new && m.tree) sub_teams_.AddParent(*team, *m.tree);
  parts_.planner->Send(reply);
}

schedule::PrepareReply TeamRegistry::PrepareSubTeam(const CheckedPrepare& m, const PortEdges* like) {
  const TeamId id = m.head.id;
  schedule::PrepareReply reply{.team = id, .epoch = m.epoch};
  if (teams_.Find(id) != nullptr) {
    reply.why = {Failure::kInternal, absl::StrCat("another team has this id (team=", id.value(), ")")};
    return reply;
  }
  Team* const team = Add(m, &reply.why);
  if (team == nullptr) return reply;
  reply = team->Prepare(m.epoch, m.plans, like);
  if (reply.accepted) {
    sub_teams_.AddParent(*team, *m.tree);
  } else {
    formations_.Refused(id);
    teams_.Remove(id);
  }
  return reply;
}

void TeamRegistry::CommitSubTeam(TeamId id, const std::vector<schedule::EdgeLabel>& outgoing) {
  Team* const team = teams_.Find(id);
  const absl::Status committed = team->Commit(EpochId(1), CallSeq(0), outgoing);
  if (!committed.ok()) {
    COPSE_LOG_ABOUT(kError, schedule::AboutTeam(team->layout()), "team ", id.value(), ": ", committed.message());
    return team->Break({Failure::kInternal, absl::StrCat("node ", node_name(), ": ", committed.message())});
  }
  sub_teams_.NoteCommitted(*team);
  OnFormed(team);
}

void TeamRegistry::DropSubTeam(TeamId id) {
  sub_teams_.Forget(id);
  formations_.TakeJoinsOf(id);
  teams_.Remove(id);
}

Team* TeamRegistry::Add(const CheckedPrepare& m, FailureReport* why) {
  const bool derived = schedule::IsDerivedTeam(m.head.identity);
  if (!parts_.drain->reason().empty() && !derived) {
    *why = {Failure::kNoResource, absl::StrCat("takes no new teams: ", AbslView(parts_.drain->reason())),
            FailureCause::kNodeDraining, node_name()};
    return nullptr;
  }
  const absl::StatusOr<NodeIndex> self = PlaceIn(m);
  if (!self.ok()) {
    const bool gone = self.status().code() == absl::StatusCode::kNotFound;
    *why = {gone ? Failure::kMemberLost : Failure::kNoResource, std::string(self.status().message())};
    return nullptr;
  }
  Account* account = nullptr;
  if (derived) {
    *why = derived_.Check(m);
    if (why->failure != Failure::kNone) return nullptr;
    account = teams_.Find(m.head.parent)->account();
  } else {
    formations_.Prepared(m.head.id, m.requests);
    account = formations_.AccountOf(m.requests);
  }
  // The limit was checked when its ranks asked for it.
  Account::Holding held = account == nullptr ? Account::Holding() : account->TakeAnyway(Resource::kTeams);
  return teams_.Add(
      std::make_unique<Team>(parts_.engine, parts_.host, *m.layout, *self, teams_.ready(), std::move(held)));
}

void TeamRegistry::Refuse(const CheckedPrepare& m, FailureReport why) {
  why.text = absl::StrCat("node ", node_name(), ": ", why.text);
  parts_.planner->Send(schedule::PrepareReply{.team = m.head.id, .epoch = m.epoch, .accepted = false, .why = why});
  if (schedule::IsDerivedTeam(m.head.identity)) derived_.Refused(m.head, why);
}

absl::StatusOr<NodeIndex> TeamRegistry::PlaceIn(const CheckedPrepare& m) const {
  RETURN_IF_ERROR(m.layout.status());
  const std::optional<NodeIndex> self = (*m.layout)->NodeOf(parts_.options->node.incarnation);
  if (!self) return absl::InvalidArgumentError("team layout does not name this daemon");
  // A derived team answers no joins of clients, since its members are those of its parent.
  if (!schedule::IsDerivedTeam(m.head.identity)) {
    RETURN_IF_ERROR(formations_.Check(m.requests, (*m.layout)->layout().shape, *self));
  }
  return *self;
}

void TeamRegistry::On(const schedule::Commit& m) {
  Team* team = teams_.Find(m.team);
  if (team == nullptr || team->broken()) return;  // RemoveBrokenFormations fails the joins of a broken new team
  const absl::Status committed = team->Commit(m.epoch, m.first_call, m.outgoing);
  if (!committed.ok()) {
    COPSE_LOG_ABOUT(kError, schedule::AboutTeam(team->layout()), "team ", m.team.value(), ": ", committed.message());
    team->Break({Failure::kInternal, absl::StrCat("node ", node_name(), ": ", committed.message())});
    return;
  }
  parts_.planner->Send(schedule::CommitReply{.team = m.team, .epoch = m.epoch});
  OnFormed(team);
}

void TeamRegistry::On(const schedule::Abort& m) {
  std::set<uint64_t> again;
  for (const uint64_t request : m.requests) {
    if (m.again) {
      again.insert(request);
    } else if (!derived_.JoinFailed(request, m.why)) {
      formations_.FailJoin(request, m.why);
    }
  }
  if (Team* team = teams_.Find(m.team); team != nullptr && (team->ready() || team->broken())) {
    team->Abort(m.epoch);
    teams_.Pump();
  } else if (team != nullptr) {
    const SharedLayout kept = team->shared_layout();
    const schedule::TeamLayout& layout = kept->layout();
    sub_teams_.Forget(m.team);
    teams_.Remove(m.team);
    if (schedule::IsDerivedTeam(layout.identity)) derived_.Dropped(layout);
    // A restarted planner aborts teams that it does not know, and names no joins: those of the team are sent again.
    again.merge(formations_.TakeJoinsOf(m.team));
  }
  formations_.SendAgain(again);
}

void TeamRegistry::On(const schedule::BreakTeam& m) {
  if (Team* team = teams_.Find(m.team)) team->Break(m.why);
}

// Only forgets the farewell: a team that still has members here ends when the last of them leaves.
void TeamRegistry::On(const schedule::EndTeam& m) {
  std::erase_if(farewells_, [&](const schedule::RunningTeam& left) { return left.layout->id == m.team; });
}

void TeamRegistry::OnPeerMessage(Incarnation from, const PeerMessage& message) {
  if (sub_teams_.OnPeerMessage(from, message)) return;
  Team* const team = teams_.Find(TeamOf(message));
  if (team == nullptr) {
    if (const auto* broken = std::get_if<BreakMessage>(&message)) sub_teams_.OnEarlyBreak(from, *broken);
    return;
  }
  if (const auto* calls = std::get_if<CallsMessage>(&message)) {
    if (team->HasEdgeTo(from)) order_.OnCalls(*team, from, *calls);
    return;
  }
  if (const auto* differ = std::get_if<CallsDifferMessage>(&message)) {
    if (!team->HasEdgeTo(from)) return;
    if (const auto why = order_.OnCallsDiffer(*differ)) team->Break(*why);
    return;
  }
  const bool was_ready = team->ready();
  const EpochId before = team->epoch();
  team->OnPeerMessage(from, message);
  if (!was_ready && team->ready() && sub_teams_.IsForming(team->id())) {
    sub_teams_.CommittedByNeighbor(*team);
  } else if (team->ready() && team->epoch() != before) {
    // A neighbor's answer has committed the epoch; the planner may not know that its decision has arrived here.
    parts_.planner->Send(schedule::CommitReply{.team = team->id(), .epoch = team->epoch()});
  }
  if (!was_ready && team->ready()) OnFormed(team);
}

}  // namespace copse::daemon
