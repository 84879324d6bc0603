// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/daemon_core.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "daemon/core/engine_counters.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

namespace {

// Limits the copies and reductions in one Progress, in bytes, so that submission queues and timers are polled in
// between.
constexpr uint64_t kTurnBytes = 256 * 1024;

// Users with little have so many teams at least, and up to the kept part of the limit, since each rank of a node counts
// while it waits for its team.
constexpr uint64_t kTeamsFloorMin = 2;
// An eighth is kept for the first user who has nothing yet, and another one for those after it.
constexpr uint64_t kMemoryKeptEighths = 2;

}  // namespace

DaemonCore::DaemonCore(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options)
    : clock_(clock),
      options_(std::move(options)),
      planner_(planner, clock->Now()),
      connections_(clock, transport, options_.node.incarnation),
      engine_(&connections_, this,
              {.incarnation = options_.node.incarnation,
               .memory_limit_bytes = options_.memory_limit_bytes,
               .trace = options_.instruments == nullptr ? nullptr : options_.instruments->trace(),
               .random = options_.random}),
      neighbors_(&connections_),
      meters_(this),
      clients_(&engine_, &accounts_, options_.clients_max),
      registry_({{.clock = clock_, .options = &options_, .planner = &planner_, .clients = &clients_},
                 &engine_,
                 this,
                 &drain_}),
      checker_(options_.node.incarnation),
      silence_(&neighbors_, &planner_, &registry_.teams()),
      last_progress_(clock->Now()) {
  accounts_.SetShare(Resource::kTeams, {.limit = options_.teams_max,
                                        .floor = std::max(options_.teams_max / FairShare::kKeptPart, kTeamsFloorMin),
                                        .least = kTeamsFloorMin});
  const uint64_t memory = options_.memory_limit_bytes;
  accounts_.SetShare(Resource::kMemory, {.limit = memory,
                                         .floor = memory / FairShare::kKeptPart,
                                         .least = memory / FairShare::kLeastPart,
                                         .kept_eighths = kMemoryKeptEighths});
  accounts_.SetRules(options_.quotas);
}

void DaemonCore::SetQuotas(QuotaRules rules) {
  accounts_.SetRules(std::move(rules));
  clients_.ApplyWeights();
}

// --- The loop ---

bool DaemonCore::Progress() {
  const bool measuring = !meters_.empty();
  const absl::Time before = measuring ? clock_->Now() : absl::Time();
  bool any = engine_.Progress(kTurnBytes);
  const absl::Time now = clock_->Now();
  if (measuring) turn_cost_ = now - before;
  silence_.OnGap(now - last_progress_, now, options_.node_timeout);
  last_progress_ = now;
  if (any && trace() != nullptr) trace()->Stamp(now);
  any |= HandlePeers();
  any |= meters_.Progress();
  any |= registry_.teams().Pump();
  if (now >= departures_.due()) SendDepartures();
  if (now >= next_tick_) Tick(now);
  planner_.Flush();
  return any;
}

// A daemon with nothing to do ticks as well: a gap between its turns then means that it stood still (SilenceWatch).
absl::Time DaemonCore::NextDeadline() const {
  if (planner_.has_joins()) return last_progress_;
  return std::min({next_tick_, meters_.NextDeadline(), departures_.due()});
}

void DaemonCore::Tick(absl::Time now) {
  const absl::Duration since_last =
      std::clamp(now - next_tick_, absl::ZeroDuration(), options_.heartbeat) + options_.heartbeat / 2;
  next_tick_ = now + options_.heartbeat / 2;
  for (const Incarnation peer : neighbors_.DueHeartbeats(now, options_.heartbeat)) {
    SendToPeer(peer, HeartbeatMessage{});
  }
  for (const Incarnation peer : silence_.Weigh(now, timeouts(), [this](Incarnation silent) {
         LoseNode(silent, {.failure = Failure::kMemberLost,
                           .text = absl::StrCat("silent for ", absl::FormatDuration(options_.node_timeout)),
                           .cause = FailureCause::kNodeSilent,
                           .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(options_.node_timeout))});
       })) {
    ++neighbors_lost_;
    neighbors_.Lost(peer);
  }
  neighbors_.DropUnused(now);
  connections_.Tick();
  registry_.Tick(since_last);
}

void DaemonCore::CheckInvariants() const {
  engine_.CheckInvariants();
  clients_.CheckInvariants();
  accounts_.CheckInvariants();
  registry_.CheckInvariants();
}

// --- Administration ---

void DaemonCore::StartDrain(const std::string& why) {
  if (drain_.Stop(why)) SayClosing();
}

void DaemonCore::SetDrained(bool drained) {
  if (drain_.SetDrained(drained)) SayClosing();
}

void DaemonCore::SayClosing() {
  for (Client* client : clients_.All()) client->sink->OnClosing(std::string(drain_.reason()));
}

void DaemonCore::SayStopping(bool done) {
  drain_.Announce();
  SendDepartures();
  if (planner_.Has(schedule::Feature::kStopping)) planner_.Send(schedule::Stopping{.done = done});
}

schedule::DaemonStatus DaemonCore::Status(bool latencies) const {
  schedule::DaemonStatus status;
  status.node = options_.node.name;
  status.incarnation = options_.node.incarnation;
  status.state = drain_.reason().empty() ? "ready" : "draining";
  status.clients = static_cast<uint32_t>(clients_.size());
  registry_.AppendStatus(&status);
  AppendCounters(engine_.stats(), &status.counters);
  AppendAccounts(&status);
  status.counters["daemon.connections"] = connections_.size();
  status.counters["daemon.neighbors"] = neighbors_.size();
  status.counters["daemon.heartbeats.sent"] = neighbors_.heartbeats_sent();
  status.counters["daemon.heartbeats.received"] = neighbors_.heartbeats_received();
  status.counters["daemon.neighbors.lost"] = neighbors_lost_;
  status.counters["calls.in_flight"] = status.calls.size();
  if (options_.instruments != nullptr) {
    options_.instruments->AppendCounters(&status.counters);
    if (latencies) status.latencies = options_.instruments->latencies().Rows();
  }
  return status;
}

void DaemonCore::AppendAccounts(schedule::DaemonStatus* status) const {
  std::map<const Account*, std::set<std::string>> claims;
  for (const Client* client : clients_.All()) {
    if (!client->hello.job.empty()) claims[client->account.get()].insert(client->hello.job);
  }
  for (const Account* account : accounts_.All()) {
    schedule::AccountStatus& row = status->accounts.emplace_back();
    row.uid = account->uid();
    row.job = account->job();
    row.weight = engine_.WeightOf(account->uid());
    row.claimed.assign(claims[account].begin(), claims[account].end());
    const Amounts limits = accounts_.LimitsOf(*account);
    for (size_t i = 0; i < kResourceCount; ++i) {
      row.holdings.push_back({std::string(kResourceNames[i].name), account->used(static_cast<Resource>(i)), limits[i]});
    }
  }
  for (size_t i = 0; i < kResourceCount; ++i) {
    status->counters[absl::StrCat("quota.refused.", AbslView(kResourceNames[i].name))] =
        accounts_.refused(static_cast<Resource>(i));
  }
}

// --- Clients ---

void DaemonCore::Detach(ClientId id, bool died, const std::string& how) {
  Client* client = clients_.Find(id);
  if (client == nullptr) return;
  registry_.formations().CancelAll(id, how);
  const std::string& node = options_.node.name;
  const std::map<uint32_t, Membership> memberships = client->memberships;
  for (const auto& [handle, membership] : memberships) {
    Team* team = registry_.teams().Find(membership.team);
    if (team == nullptr) continue;
    // A member that detaches with calls in flight counts as lost.
    if (died || registry_.HasCallInFlight(*team, membership.rank)) {
      team->Break({Failure::kMemberLost,
                   absl::StrCat("rank ", membership.rank.value(), " on node ", node, " lost: ", how),
                   died ? FailureCause::kProcessDied : FailureCause::kMemberLeft, node, membership.rank});
    }
    registry_.Leave(team, membership.rank);
  }
  SendDepartures();  // a daemon of one job may end with its processes
  clients_.Remove(id);
}

void DaemonCore::CreateTeam(ClientId id, const TeamRequest& request) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  registry_.formations().Create(client, request, drain_.reason());
}

void DaemonCore::DestroyTeam(ClientId id, uint64_t request, uint32_t handle) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  const Membership* membership = client->FindMembership(handle);
  if (membership == nullptr) {
    return client->sink->OnTeamDestroyed(
        request, {Failure::kInvalidArgument, absl::StrCat("destroy: unknown team (handle=", handle, ")")});
  }
  Team* team = registry_.teams().Find(membership->team);
  CHECK(team != nullptr);
  const Rank rank = membership->rank;
  if (!team->broken() && registry_.HasCallInFlight(*team, rank)) {
    return client->sink->OnTeamDestroyed(
        request, {Failure::kInvalidArgument, absl::StrCat("destroy: team ", DescribeTeam(team->layout().identity),
                                                          " has calls in flight at rank ", rank.value())});
  }
  client->memberships.erase(handle);
  registry_.Leave(team, rank);
  client->sink->OnTeamDestroyed(request, {});
}

void DaemonCore::Post(ClientId id, CallPost post) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  if (const absl::Status allowed = client->PostBegins(); !allowed.ok()) {
    if (options_.instruments != nullptr) options_.instruments->PostRefused();
    return Notify(id, {.value = post.value,
                       .failure = {Failure::kNoResource, absl::StrCat("post: ", allowed.message()),
                                   FailureCause::kQuota, options_.node.name}});
  }
  const Membership* membership = client->FindMembership(post.team);
  if (membership == nullptr) {
    if (options_.instruments != nullptr) options_.instruments->PostRefused();
    return Notify(
        id, {.value = post.value,
             .failure = {Failure::kInvalidArgument, absl::StrCat("post: unknown team (handle=", post.team, ")")}});
  }
  registry_.Post(*membership, std::move(post));
}

void DaemonCore::PostNop(ClientId id, uint64_t value) {
  Client* client = clients_.Find(id);
  CHECK(client != nullptr);
  client->PostBegins().IgnoreError();  // it is over at once
  emu::Descriptor event{.op = emu::OpCode::kEvent};
  event.value = value;
  const absl::Status posted = engine_.Post(client->port, {}, {event});
  if (!posted.ok()) {
    Notify(id, {.value = value, .failure = {Failure::kNoResource, std::string(posted.message())}});
  }
}

uint32_t DaemonCore::PostRoom(ClientId id) const {
  const Client* client = clients_.Find(id);
  if (client == nullptr) return 0;
  return client->hello.eq_entries - std::min(client->hello.eq_entries, client->outstanding);
}

// --- The planner's messages ---

void DaemonCore::OnPlannerUp() { planner_.Up({.node = options_.node, .teams = registry_.RunningTeams()}); }

absl::Status DaemonCore::OpenNetwork() {
  RETURN_IF_ERROR(connections_.Open());
  options_.node.worker_address = connections_.LocalAddress();
  return absl::OkStatus();
}

void DaemonCore::OnPlannerDown() {
  planner_.Down(clock_->Now());
  registry_.OnPlannerDown();
}

void DaemonCore::OnPlannerMessage(const schedule::ToDaemon& message) {
  std::visit([this](const auto& m) { On(m); }, message);
  registry_.RemoveBrokenFormations();
}

void DaemonCore::OnPrepare(const CheckedPrepare& prepare) {
  registry_.On(prepare);
  registry_.RemoveBrokenFormations();
}

void DaemonCore::On(const schedule::Registered& m) {
  planner_.OnRegistered(m, clock_->Now());
  if (!m.accepted) {
    COPSE_LOG(kError, "the planner refuses this daemon: ", m.why.text);
    return;
  }
  // Older planners never set `draining`; they send Drain after this message if the node is drained.
  if (m.features.contains(schedule::Feature::kStopping)) SetDrained(m.draining);
  if (drain_.announced()) SayStopping(/*done=*/false);
  registry_.OnRegistered(m);
}

void DaemonCore::On(const schedule::AddressQuery&) {
  const absl::Status opened = OpenNetwork();
  if (!opened.ok()) COPSE_LOG(kError, "network for data: ", opened.message());
  planner_.Send(
      schedule::DataAddress{options_.node.worker_address, opened.ok() ? FailureReport{} : schedule::ReportOf(opened)});
}

void DaemonCore::On(const schedule::PlansQuery& m) {
  const Team* const team = registry_.teams().Find(m.team);
  if (team == nullptr || team->epoch() == EpochId(0)) return;
  planner_.Send(schedule::TeamPlans{m.team, team->epoch(), team->EncodedPlans()});
}

void DaemonCore::On(const schedule::StatusQuery& m) {
  schedule::StatusReply reply{.query = m.query, .status = Status(m.latencies)};
  if (const Team* team = registry_.teams().Find(m.calls_of)) team->AppendPlanCalls(&reply.status.plan_calls);
  planner_.Send(std::move(reply));
}

void DaemonCore::On(const schedule::TraceQuery& m) {
  std::optional<OwnRecords> own;
  if (m.owner.has_value()) own = RecordsOf(*m.owner);
  planner_.Send(AnswerTrace(m, own.has_value() ? &*own : nullptr, options_.instruments, clock_->Now()));
}

OwnRecords DaemonCore::RecordsOf(uint32_t uid) const {
  OwnRecords own;
  std::set<uint32_t> ambiguous = {0};  // records without a team have 0
  for (const auto& [id, team] : registry_.teams()) {
    const auto bits = static_cast<uint32_t>(id.value());
    const bool is_own = team->layout().identity.uid == uid;
    if (!is_own || !own.teams.emplace(bits, team->first_record()).second) ambiguous.insert(bits);
  }
  for (const uint32_t bits : ambiguous) own.teams.erase(bits);
  for (const Client* client : clients_.All()) {
    if (client->hello.uid == uid) own.clients.insert(static_cast<uint32_t>(client->id));
  }
  return own;
}

// --- Neighbors ---

void DaemonCore::OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) {
  absl::StatusOr<PeerMessage> decoded =
      DecodePeerMessage(type, std::string_view(reinterpret_cast<const char*>(message.data()), message.size()));
  if (!decoded.ok()) {
    const std::optional<std::string> end = lines_.Take(absl::StrCat(from.value()), clock_->Now());
    if (end.has_value()) COPSE_LOG(kWarning, "from daemon ", from.value(), ": ", decoded.status().message(), *end);
    return;
  }
  peer_messages_.emplace_back(from, *std::move(decoded));
}

void DaemonCore::OnPeerDown(Incarnation peer, const absl::Status& why) {
  COPSE_LOG(kInfo, "neighbor ", peer.value(), ": ", why.message());
  peers_down_.push_back(peer);
}

absl::Status DaemonCore::SendMessage(Incarnation peer, const PeerMessage& message, emu::ControlPlace place) {
  const EncodedPeerMessage encoded = EncodePeerMessage(message);
  return engine_.SendControl(
      peer, encoded.type,
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(encoded.body.data()), encoded.body.size()), place);
}

void DaemonCore::SendToPeer(Incarnation peer, const PeerMessage& message) {
  if (const auto* left = std::get_if<LeftMessage>(&message)) return departures_.Add(peer, *left, clock_->Now());
  const absl::Status sent = SendMessage(peer, message, emu::ControlPlace::kAhead);
  if (!sent.ok()) COPSE_LOG(kDebug, "to daemon ", peer.value(), ": ", sent.message());
}

void DaemonCore::SendDepartures() {
  for (const auto& [to, left] : departures_.Take()) {
    // Peers ignore a node's messages once it has left, so the last one must not overtake the node's data.
    const absl::Status sent = SendMessage(to.first, left, emu::ControlPlace::kBehind);
    if (!sent.ok()) COPSE_LOG(kDebug, "to daemon ", to.first.value(), ": ", sent.message());
  }
}

absl::Status DaemonCore::ConnectForMeasuring(const schedule::TeamNode& peer) {
  if (peer.incarnation == options_.node.incarnation) return absl::InvalidArgumentError("that is this daemon itself");
  return neighbors_.AcquireGuest(peer, clock_->Now());
}

bool DaemonCore::HandlePeers() {
  const auto down = std::exchange(peers_down_, {});
  const auto messages = std::exchange(peer_messages_, {});
  for (const auto& [from, message] : messages) {
    if (std::holds_alternative<HeartbeatMessage>(message)) {  // OnPeerHeard has recorded its time
      neighbors_.CountHeartbeat();
    } else if (const std::optional<MeterMessage> meter = AsMeterMessage(message)) {
      meters_.OnMessage(from, *meter, turn_cost_);
    } else {
      if (const auto* left = std::get_if<LeftMessage>(&message)) departures_.OnLeft(from, *left);
      registry_.OnPeerMessage(from, message);
    }
  }
  for (const Incarnation peer : down) OnConnectionLost(peer);
  registry_.RemoveBrokenFormations();
  return !down.empty() || !messages.empty();
}

void DaemonCore::OnConnectionLost(Incarnation peer) {
  // This text is for users; the log has the transport's reason.
  const std::string why = "its daemon's connection was reset";
  // A team may include the node without an edge to it, so the end of a mere measurement must not break the team.
  const bool guest = neighbors_.OnlyGuest(peer);
  meters_.OnPeerDown(peer, why);
  if (guest) return neighbors_.Lost(peer);
  const absl::Duration stood_still = silence_.GivenUpAfter(clock_->Now(), timeouts());
  if (stood_still > absl::ZeroDuration()) {
    for (const auto& [id, team] : registry_.teams()) team->OnSelfLost(peer, stood_still);
  }
  LoseNode(peer, {Failure::kMemberLost, why, FailureCause::kConnectionLost});
}

void DaemonCore::LoseNode(Incarnation peer, const FailureReport& why) {
  COPSE_LOG(kInfo, "neighbor ", peer.value(), " lost: ", why.text);
  ++neighbors_lost_;
  for (const auto& [id, team] : registry_.teams()) team->OnNodeLost(peer, why);
  neighbors_.Lost(peer);
}

}  // namespace copse::daemon
