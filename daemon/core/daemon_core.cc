// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/daemon_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "daemon/core/daemon_core_impl.h"
#include "daemon/core/engine_counters.h"

namespace copse::daemon {
namespace {

using schedule::FailureReport;

// Copying and reducing in one turn of the loop, before rings and timers are looked at again.
constexpr uint64_t kTurnBytes = 256 * 1024;

}  // namespace

DaemonCore::Impl::Impl(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options)
    : clock_(clock),
      planner_(planner),
      options_(std::move(options)),
      connections_(clock, transport, options_.node.incarnation),
      engine_(&connections_, this,
              {.incarnation = options_.node.incarnation,
               .memory_limit_bytes = options_.memory_limit_bytes,
               .trace = options_.instruments == nullptr ? nullptr : options_.instruments->trace()}),
      neighbours_(&connections_),
      meters_(this),
      clients_(&engine_, options_.clients_max),
      companions_(this),
      planner_lost_(clock->Now()),
      last_progress_(clock->Now()) {}

bool DaemonCore::Impl::Progress() {
  const bool measuring = !meters_.empty();
  const absl::Time before = measuring ? clock_->Now() : absl::Time();
  bool any = engine_.Progress(kTurnBytes);
  const absl::Time now = clock_->Now();
  if (measuring) turn_cost_ = now - before;
  // Whoever was stopped for a while must not take its own silence for the others'.
  if (const absl::Duration gap = now - last_progress_; gap > options_.node_timeout / 2) {
    neighbours_.Forgive(gap);
    stood_still_ = gap;
    went_on_ = now;
  }
  last_progress_ = now;
  if (any && trace() != nullptr) trace()->Stamp(now);
  any |= HandlePeers();
  any |= meters_.Progress();
  any |= PumpTeams();
  if (now >= next_tick_) Tick(now);
  return any;
}

absl::Time DaemonCore::Impl::NextDeadline() const {
  const bool awaits_planner = !registered_ && !joins_.empty();
  if (neighbours_.size() == 0 && teams_.empty() && !connections_.waiting() && !awaits_planner) {
    return absl::InfiniteFuture();
  }
  return std::min(next_tick_, meters_.NextDeadline());
}

void DaemonCore::Impl::StartDrain(const std::string& why) {
  if (!stop_reason_.empty()) return;
  stop_reason_ = why;
  for (Client* client : clients_.All()) client->sink->OnClosing(why);
}

void DaemonCore::Impl::SetDrained(bool drained) {
  if (std::exchange(drained_, drained) == drained || !drained) return;
  for (Client* client : clients_.All()) client->sink->OnClosing(std::string(DrainReason()));
}

std::string_view DaemonCore::Impl::DrainReason() const {
  if (!stop_reason_.empty()) return stop_reason_;
  return drained_ ? "drained by the administrator" : "";
}

void DaemonCore::Impl::SayStopping(bool done) {
  is_stopping_ = true;
  if (registered_ && hears_of_stops_) SendToPlanner(schedule::Stopping{.done = done});
}

bool DaemonCore::Impl::Idle() const {
  return !companions_.HasCallWaiting() &&
         std::none_of(teams_.begin(), teams_.end(), [](const auto& entry) { return entry.second->HasCallInFlight(); });
}

schedule::DaemonStatus DaemonCore::Impl::Status(bool latencies) const {
  schedule::DaemonStatus status;
  status.node = options_.node.name;
  status.incarnation = options_.node.incarnation;
  status.state = DrainReason().empty() ? "ready" : "draining";
  status.clients = static_cast<uint32_t>(clients_.size());
  for (const auto& [id, team] : teams_) {
    const size_t before = status.progress.size();
    team->AppendStatus(&status);
    if (schedule::IsCompanion(team->layout().identity)) continue;  // its ranks are its team's
    ++status.teams;
    status.ranks += static_cast<uint32_t>(status.progress.size() - before);
  }
  companions_.AppendStatus(&status);
  AppendCounters(engine_.stats(), &status.counters);
  status.counters["daemon.connections"] = connections_.size();
  status.counters["daemon.neighbours"] = neighbours_.size();
  status.counters["daemon.heartbeats.sent"] = heartbeats_sent_;
  status.counters["daemon.heartbeats.received"] = heartbeats_received_;
  status.counters["daemon.neighbours.lost"] = neighbours_lost_;
  status.counters["calls.in_flight"] = status.calls.size();
  status.counters["calls.held_ms"] = static_cast<uint64_t>(absl::ToInt64Milliseconds(held_));
  if (options_.instruments != nullptr) {
    options_.instruments->AppendCounters(&status.counters);
    if (latencies) status.latencies = options_.instruments->latencies().Rows();
  }
  return status;
}

void DaemonCore::Impl::SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout) {
  options_.heartbeat = heartbeat;
  options_.node_timeout = node_timeout;
}

void DaemonCore::Impl::OnTeamBroken(TeamId team, const FailureReport& why) {
  SendToPlanner(schedule::TeamBroken{.team = team, .why = why});
  const schedule::TeamLayout& layout = FindTeam(team)->layout();
  if (schedule::IsCompanion(layout.identity)) {
    if (Team* of = FindTeam(layout.parent)) of->Break(why);
    return;
  }
  companions_.FailWaiting(team, why);
  FailJoinsOf(team, why);
  for (const TeamId id : companions_.Of(team)) FindTeam(id)->Break(why);
}

FailureReport DaemonCore::Impl::ParentBroken(const Join& join, const FailureReport& why) {
  FailureReport broken = why;
  broken.text = absl::StrCat("team ", DescribeTeam(join.identity), ": parent team ", join.parent.value(),
                             " is broken: ", why.text);
  return broken;
}

// A planner that has lost the team could not tell their members why.
void DaemonCore::Impl::FailJoinsOf(TeamId parent, const FailureReport& why) {
  const std::set<uint64_t> prepared = PreparedJoins();
  for (auto it = joins_.begin(); it != joins_.end();) {
    const auto current = it++;
    if (current->second.parent != parent || prepared.contains(current->first)) continue;
    const Join join = std::move(joins_.extract(current).mapped());
    const FailureReport broken = ParentBroken(join, why);
    SendToPlanner(schedule::CancelJoin{.request = current->first, .why = broken});
    if (Client* client = clients_.Find(join.client)) client->sink->OnTeamFailed(join.request.request, broken);
  }
}

void DaemonCore::Impl::SendToPlanner(const schedule::FromDaemon& message) {
  if (planner_up_) planner_->Send(message);
}

Team* DaemonCore::Impl::FindTeam(TeamId id) {
  const auto it = teams_.find(id);
  return it == teams_.end() ? nullptr : it->second.get();
}

bool DaemonCore::Impl::PumpTeams() {
  return ready_teams_.HandleAll([](Team* team) { team->Pump(); });
}

void DaemonCore::Impl::Tick(absl::Time now) {
  const absl::Duration since_last =
      std::clamp(now - next_tick_, absl::ZeroDuration(), options_.heartbeat) + options_.heartbeat / 2;
  next_tick_ = now + options_.heartbeat / 2;
  for (const Incarnation peer : neighbours_.DueHeartbeats(now, options_.heartbeat)) {
    ++heartbeats_sent_;
    SendToPeer(peer, HeartbeatMessage{});
  }
  WeighSilence(now);
  neighbours_.DropUnused(now);
  connections_.Tick();
  FailJoinsWithoutPlanner();
  for (const auto& [id, team] : teams_) {
    if (team->ProbeStalled(options_.stall_probe)) {
      const schedule::TeamLayout& layout = team->layout();
      const Team* of = schedule::IsCompanion(layout.identity) ? FindTeam(layout.parent) : team.get();
      if (of != nullptr) CompareCalls(*of);
    }
    if (team->IsHeld()) held_ += since_last;
    if (team->AskForDecision(std::min(options_.decision_ask, options_.node_timeout / 4))) {
      SendToPlanner(schedule::EpochQuery{.team = id, .epoch = team->prepared_epoch()});
    }
  }
}

DaemonCore::DaemonCore(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options)
    : impl_(std::make_unique<Impl>(clock, transport, planner, std::move(options))) {}
DaemonCore::~DaemonCore() = default;

void DaemonCore::OnPlannerUp() { impl_->OnPlannerUp(); }
void DaemonCore::OnPlannerDown() { impl_->OnPlannerDown(); }
void DaemonCore::OnPlannerMessage(const schedule::ToDaemon& message) { impl_->OnPlannerMessage(message); }
bool DaemonCore::registered() const { return impl_->registered(); }
const FailureReport& DaemonCore::refusal() const { return impl_->refusal(); }
absl::StatusOr<ClientId> DaemonCore::Attach(const ClientHello& hello, ClientSink* sink) {
  return impl_->Attach(hello, sink);
}
void DaemonCore::Detach(ClientId client, bool died, const std::string& how) { impl_->Detach(client, died, how); }
void DaemonCore::CreateTeam(ClientId client, const TeamRequest& request) { impl_->CreateTeam(client, request); }
void DaemonCore::CancelCreateTeam(ClientId client, uint64_t request, const std::string& why) {
  impl_->CancelCreateTeam(client, request, why);
}
void DaemonCore::DestroyTeam(ClientId client, uint64_t request, uint32_t handle) {
  impl_->DestroyTeam(client, request, handle);
}
void DaemonCore::Post(ClientId client, CallPost post) { impl_->Post(client, std::move(post)); }
void DaemonCore::PostNop(ClientId client, uint64_t value) { impl_->PostNop(client, value); }
uint32_t DaemonCore::PostRoom(ClientId client) const { return impl_->PostRoom(client); }
bool DaemonCore::Progress() { return impl_->Progress(); }
absl::Time DaemonCore::NextDeadline() const { return impl_->NextDeadline(); }
void DaemonCore::StartDrain(const std::string& why) { impl_->StartDrain(why); }
void DaemonCore::SayStopping(bool done) { impl_->SayStopping(done); }
bool DaemonCore::Idle() const { return impl_->Idle(); }
schedule::DaemonStatus DaemonCore::Status(bool latencies) const { return impl_->Status(latencies); }
void DaemonCore::SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout) {
  impl_->SetTimeouts(heartbeat, node_timeout);
}
void DaemonCore::SetJoinToken(const std::string& token) { impl_->SetJoinToken(token); }

}  // namespace copse::daemon
