// SPDX-License-Identifier: Apache-2.0
//
// What the planner says: teams are prepared, committed, aborted and broken; and what it asks.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/string_view.h"
#include "daemon/core/daemon_core_impl.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

namespace {

// The newest are kept. Each is a team's whole layout, and all of them travel in one Register.
constexpr size_t kFarewellsMax = 64;

}  // namespace

void DaemonCore::Impl::OnPlannerUp() {
  registered_ = false;
  planner_up_ = true;
  schedule::Register message{.node = options_.node, .term = term_};
  for (const auto& [id, team] : teams_) {
    message.teams.push_back(Describe(*team));
    message.teams.back().plans = team->EncodedPlans();
  }
  message.teams.insert(message.teams.end(), farewells_.begin(), farewells_.end());
  planner_->Send(message);
}

schedule::RunningTeam DaemonCore::Impl::Describe(const Team& team) {
  return {.layout = team.layout(),
          .epoch = team.epoch(),
          .broken = team.broken().has_value(),
          .why = team.broken().value_or(FailureReport{}),
          .prepared_epoch = team.prepared_epoch()};
}

void DaemonCore::Impl::SayLeft(const Team& team) {
  SendToPlanner(schedule::LeaveTeam{.team = team.id()});
  if (!team.broken()) return;
  if (farewells_.size() >= kFarewellsMax) farewells_.erase(farewells_.begin());
  farewells_.push_back(Describe(team));
}

// Few daemons are ever refused, so the idle ones keep no room for it.
const FailureReport& DaemonCore::Impl::refusal() const {
  static const auto& none = *new FailureReport;
  return refusal_ == nullptr ? none : *refusal_;
}

void DaemonCore::Impl::OnPlannerDown() {
  if (registered_) planner_lost_ = clock_->Now();
  planner_up_ = registered_ = false;
  companions_.PlannerLost();
}

CompanionHost::Planner DaemonCore::Impl::planner() const {
  if (!registered_) return Planner::kAway;
  return forms_companions_ ? Planner::kReady : Planner::kTooOld;
}

void DaemonCore::Impl::OnPlannerMessage(const schedule::ToDaemon& message) {
  std::visit([this](const auto& m) { On(m); }, message);
  FailBrokenFormations();
}

void DaemonCore::Impl::On(const schedule::Registered& m) {
  registered_ = m.accepted;
  weighs_silence_ = m.features.contains(schedule::Feature::kSilence);
  forms_companions_ = m.features.contains(schedule::Feature::kCompanions);
  hears_of_stops_ = m.features.contains(schedule::Feature::kStopping);
  refusal_ = m.accepted ? nullptr : std::make_unique<FailureReport>(m.why);
  if (!m.accepted) {
    COPSE_LOG(kError, "the planner refuses this daemon: ", m.why.text);
    return;
  }
  term_ = std::max(term_, m.term);
  // A planner of proto 4 says Drain where it is so, and nothing where it is not.
  if (m.features.contains(schedule::Feature::kStopping)) SetDrained(m.draining);
  if (is_stopping_) SayStopping(/*done=*/false);
  for (const TeamId id : m.forgotten) {
    On(schedule::EndTeam{.team = id});
    if (Team* team = FindTeam(id))
      team->Break({Failure::kMemberLost, "the planner has ended this team while it could not be reached"});
  }
  for (const schedule::RunningTeam& left : farewells_) {
    SendToPlanner(schedule::LeaveTeam{.team = left.layout.id});
  }
  // Members elsewhere, whose daemons have found the planner sooner, may wait for these.
  for (const Join& join : std::exchange(given_up_, {})) {
    if (clock_->Now() - join.given_up < options_.formation_timeout) {
      RefuseJoin(join, NoPlanner());
    }
  }
  const std::set<uint64_t> prepared = PreparedJoins();
  for (const auto& [request, join] : joins_) {
    if (!prepared.contains(request)) SendJoinOf(request, join);
  }
  companions_.AskAgain();
}

void DaemonCore::Impl::On(const schedule::Prepare& m) {
  Team* team = FindTeam(m.layout.id);
  if (team == nullptr && m.epoch != EpochId{1}) {  // a switch, which has crossed the last rank's leaving
    return SendToPlanner(schedule::PrepareReply{
        .team = m.layout.id,
        .epoch = m.epoch,
        .why = {Failure::kMemberLost, absl::StrCat("node ", options_.node.name, ": has left the team"),
                FailureCause::kMemberLeft, options_.node.name}});
  }
  if (team == nullptr) team = AddTeam(m);
  if (team == nullptr) return;
  schedule::PrepareReply reply = team->Prepare(m.epoch, m.plans);
  const bool is_new = !team->ready() && !team->broken();
  if (!reply.accepted && is_new) {
    Refuse(m, reply.why);
    forming_.erase(m.layout.id);
    teams_.erase(m.layout.id);
    return;
  }
  if (!reply.accepted) reply.why.text = absl::StrCat("node ", options_.node.name, ": ", reply.why.text);
  if (is_new && schedule::IsCompanion(m.layout.identity)) companions_.Prepared(*team);
  SendToPlanner(reply);
}

Team* DaemonCore::Impl::AddTeam(const schedule::Prepare& m) {
  const bool is_companion = schedule::IsCompanion(m.layout.identity);
  if (!DrainReason().empty() && !is_companion) {
    Refuse(m, {Failure::kNoResource, absl::StrCat("takes no new teams: ", AbslView(DrainReason())),
               FailureCause::kNodeDraining, options_.node.name});
    return nullptr;
  }
  absl::StatusOr<NodeIndex> self = CheckLayout(m);
  if (!self.ok()) {
    const bool gone = self.status().code() == absl::StatusCode::kNotFound;
    Refuse(m, {gone ? Failure::kMemberLost : Failure::kNoResource, std::string(self.status().message())});
    return nullptr;
  }
  if (is_companion) {
    if (FailureReport why = companions_.Check(m); why.failure != Failure::kNone) {
      Refuse(m, std::move(why));
      return nullptr;
    }
  } else {
    forming_[m.layout.id] = m.requests;
  }
  return teams_.emplace(m.layout.id, std::make_unique<Team>(&engine_, this, m.layout, *self, &ready_teams_))
      .first->second.get();
}

void DaemonCore::Impl::Refuse(const schedule::Prepare& m, FailureReport why) {
  why.text = absl::StrCat("node ", options_.node.name, ": ", why.text);
  SendToPlanner(schedule::PrepareReply{.team = m.layout.id, .epoch = m.epoch, .accepted = false, .why = why});
  if (schedule::IsCompanion(m.layout.identity)) companions_.Refused(m.layout, why);
}

absl::StatusOr<NodeIndex> DaemonCore::Impl::CheckLayout(const schedule::Prepare& m) const {
  const schedule::TeamLayout& layout = m.layout;
  const bool is_companion = schedule::IsCompanion(layout.identity);
  if (const absl::Status shape = schedule::CheckShape(layout.shape); !shape.ok()) return shape;
  if (layout.nodes.size() != layout.shape.node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("team layout (nodes=", layout.nodes.size(), ", shape's=", layout.shape.node_count, ")"));
  }
  if (layout.window < 2 || layout.window > 4096 || (layout.window & (layout.window - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("team window (window=", layout.window, ", limit=a power of two from 2 to 4096)"));
  }
  NodeIndex self{0};
  while (self.value() < layout.nodes.size() && layout.nodes[self.value()].incarnation != options_.node.incarnation)
    ++self;
  if (self.value() == layout.nodes.size()) return absl::InvalidArgumentError("team layout does not name this daemon");
  if (is_companion) return self;  // its members are those of its team
  for (const auto& [request, rank] : m.requests) {
    if (!joins_.contains(request))
      return absl::NotFoundError(absl::StrCat("the process of rank ", rank.value(), " is gone"));
    if (rank.value() >= layout.shape.size() || layout.shape.node_of_rank[rank.value()] != self) {
      return absl::InvalidArgumentError(absl::StrCat("team layout: rank ", rank.value(), " is not on this node"));
    }
  }
  return self;
}

void DaemonCore::Impl::On(const schedule::Commit& m) {
  Team* team = FindTeam(m.team);
  if (team == nullptr || team->broken()) return;  // FailBrokenFormations tells who waits for it
  const absl::Status committed = team->Commit(m.epoch, m.first_call, m.outgoing);
  if (!committed.ok()) {
    COPSE_LOG(kError, "team ", m.team.value(), ": ", committed.message());
    team->Break({Failure::kInternal, absl::StrCat("node ", options_.node.name, ": ", committed.message())});
    return;
  }
  SendToPlanner(schedule::CommitReply{.team = m.team, .epoch = m.epoch});
  TellFormed(team);
}

void DaemonCore::Impl::TellFormed(Team* team) {
  if (schedule::IsCompanion(team->layout().identity)) companions_.Committed(team, options_.pending_calls_max);
  const auto forming = forming_.extract(team->id());
  if (forming.empty()) {
    PumpTeams();
    return;
  }
  std::vector<Rank> gone;
  for (const auto& [request, rank] : forming.mapped()) {
    const auto join = joins_.extract(request);
    Client* client = join.empty() ? nullptr : clients_.Find(join.mapped().client);
    if (client == nullptr) {
      gone.push_back(rank);
      continue;
    }
    const uint32_t handle = next_handle_++;
    client->memberships[handle] = {.team = team->id(), .rank = rank};
    team->Join(rank, client->id);
    client->sink->OnTeamReady(join.mapped().request.request, handle, team->layout());
  }
  if (gone.empty()) return;
  team->Break({Failure::kMemberLost,
               absl::StrCat("rank ", gone.front().value(), " on node ", options_.node.name,
                            " lost: its process went away while the team was formed"),
               FailureCause::kProcessDied, options_.node.name, gone.front()});
  // None of them is a member yet, so once is enough; the team goes if it has no other member.
  Leave(team, gone.front());
}

void DaemonCore::Impl::On(const schedule::Abort& m) {
  for (const uint64_t request : m.requests) {
    if (m.again) break;
    if (companions_.JoinFailed(request, m.why)) continue;
    const auto join = joins_.extract(request);
    if (join.empty()) continue;
    if (Client* client = clients_.Find(join.mapped().client))
      client->sink->OnTeamFailed(join.mapped().request.request, m.why);
  }
  std::set<uint64_t> again;
  if (m.again) again.insert(m.requests.begin(), m.requests.end());
  AbortTeam(m, &again);
  for (const uint64_t request : again) {
    if (const auto join = joins_.find(request); join != joins_.end()) SendJoinOf(request, join->second);
  }
}

// Adds the joins that the team was to answer to `again`.
void DaemonCore::Impl::AbortTeam(const schedule::Abort& m, std::set<uint64_t>* again) {
  Team* team = FindTeam(m.team);
  if (team == nullptr) return;
  if (team->ready() || team->broken()) {
    team->Abort(m.epoch);
    PumpTeams();
  } else {
    const std::unique_ptr<Team> aborted = std::move(teams_.extract(m.team).mapped());
    if (schedule::IsCompanion(aborted->layout().identity)) return companions_.Dropped(aborted->layout());
    // A planner that was restarted aborts what it does not know, but has not answered these ranks: they join again.
    const auto forming = forming_.extract(m.team);
    if (forming.empty()) return;
    for (const auto& [request, rank] : forming.mapped()) again->insert(request);
  }
}

void DaemonCore::Impl::On(const schedule::BreakTeam& m) {
  if (Team* team = FindTeam(m.team)) team->Break(m.why);
}

// A team goes here when its last member here leaves.
void DaemonCore::Impl::On(const schedule::EndTeam& m) {
  std::erase_if(farewells_, [&](const schedule::RunningTeam& left) { return left.layout.id == m.team; });
}

void DaemonCore::Impl::On(const schedule::StatusQuery& m) {
  SendToPlanner(schedule::StatusReply{.query = m.query, .status = Status(m.latencies)});
}

void DaemonCore::Impl::On(const schedule::TraceQuery& m) {
  schedule::TraceReply reply{.query = m.query};
  reply.now_ns = absl::ToUnixNanos(clock_->Now());
  reply.off = trace() == nullptr;
  if (!reply.off) {
    const uint64_t since = m.last_ns < 0 ? 0 : trace()->FirstSince(reply.now_ns - m.last_ns);
    std::vector<emu::TraceRecord> records;
    reply.first =
        trace()->Read(std::max(m.from, since), std::min(m.records, schedule::kTracePieceRecordsMax), &records);
    reply.next = trace()->next();
    static_assert(sizeof(emu::TraceRecord) == schedule::kTraceRecordBytes);
    reply.records.assign(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(emu::TraceRecord));
  }
  SendToPlanner(reply);
}

void DaemonCore::Impl::On(const schedule::Drain& m) { SetDrained(m.on); }

uint64_t DaemonCore::Impl::SendJoin(schedule::JoinTeam join) {
  if (join.request == 0) join.request = next_join_++;
  SendToPlanner(join);
  return join.request;
}

void DaemonCore::Impl::RefuseJoin(const Join& join, FailureReport why) {
  why.failure = Failure::kNoResource;
  SendJoinOf(next_join_, join);
  SendToPlanner(schedule::CancelJoin{.request = next_join_++, .why = std::move(why)});
}

void DaemonCore::Impl::SendJoinOf(uint64_t request, const Join& join) {
  SendToPlanner(schedule::JoinTeam{.request = request,
                                   .identity = join.identity,
                                   .parent = join.parent,
                                   .rank = join.request.rank,
                                   .size = join.request.size});
}

std::set<uint64_t> DaemonCore::Impl::PreparedJoins() const {
  std::set<uint64_t> prepared;
  for (const auto& [id, requests] : forming_) {
    for (const auto& [request, rank] : requests) prepared.insert(request);
  }
  return prepared;
}

bool DaemonCore::Impl::LacksPlanner() const {
  return !registered_ && clock_->Now() - planner_lost_ >= options_.planner_patience;
}

FailureReport DaemonCore::Impl::NoPlanner() const {
  return {Failure::kNoResource,
          absl::StrCat("the daemon has no planner (node=", options_.node.name, ")", refusal().text.empty() ? "" : ": ",
                       refusal().text),
          FailureCause::kNoPlanner, options_.node.name};
}

void DaemonCore::Impl::FailWithoutPlanner(Join join) {
  join.given_up = clock_->Now();
  if (Client* client = clients_.Find(join.client)) {
    FailureReport why = NoPlanner();
    why.text = absl::StrCat("team ", DescribeTeam(join.identity), ": ", why.text);
    client->sink->OnTeamFailed(join.request.request, why);
  }
  if (given_up_.size() >= options_.teams_max) given_up_.erase(given_up_.begin());
  given_up_.push_back(std::move(join));
}

void DaemonCore::Impl::FailJoinsWithoutPlanner() {
  if (joins_.empty() || !LacksPlanner()) return;
  const std::set<uint64_t> prepared = PreparedJoins();
  for (auto it = joins_.begin(); it != joins_.end();) {
    const auto current = it++;
    if (!prepared.contains(current->first)) FailWithoutPlanner(std::move(joins_.extract(current).mapped()));
  }
}

void DaemonCore::Impl::FailBrokenFormations() {
  for (auto it = forming_.begin(); it != forming_.end();) {
    const TeamId id = it->first;
    Team* team = FindTeam(id);
    CHECK(team != nullptr);
    if (!team->broken()) {
      ++it;
      continue;
    }
    for (const auto& [request, rank] : it->second) {
      const auto join = joins_.extract(request);
      Client* client = join.empty() ? nullptr : clients_.Find(join.mapped().client);
      if (client != nullptr) client->sink->OnTeamFailed(join.mapped().request.request, *team->broken());
    }
    it = forming_.erase(it);
    SayLeft(*team);
    teams_.erase(id);
  }
}

}  // namespace copse::daemon
