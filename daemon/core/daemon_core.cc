// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/daemon_core.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/log.h"
#include "daemon/core/client_table.h"
#include "daemon/core/connections.h"
#include "daemon/core/engine_counters.h"
#include "daemon/core/neighbours.h"
#include "daemon/core/pair_meters.h"
#include "daemon/core/peer_messages.h"
#include "daemon/core/post_check.h"
#include "daemon/core/team.h"

namespace copse::daemon {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// Copying and reducing in one turn of the loop, before rings and timers are looked at again.
constexpr uint64_t kTurnBytes = 256 * 1024;

// In heartbeats: until all neighbours of a silent node have noticed it (the last heartbeat may have reached one and not
// the next, and daemons look twice a heartbeat), and how long the planner's verdict is waited for.
constexpr int kOthersNotice = 2;
constexpr int kVerdictWait = 4;

}  // namespace

class DaemonCore::Impl : public emu::ControlSink, public TeamHost, public PairMeterHost {
 public:
  Impl(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options)
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
        last_progress_(clock->Now()) {}

  // --- Planner ---

  void OnPlannerUp() {
    registered_ = false;
    planner_up_ = true;
    schedule::Register message{.node = options_.node};
    for (const auto& [id, team] : teams_) {
      message.teams.push_back({.layout = team->layout(),
                               .epoch = team->epoch(),
                               .plans = team->EncodedPlans(),
                               .broken = team->broken().has_value(),
                               .prepared_epoch = team->prepared_epoch()});
    }
    planner_->Send(message);
  }

  void OnPlannerDown() { planner_up_ = registered_ = false; }

  void OnPlannerMessage(const schedule::ToDaemon& message) {
    std::visit([this](const auto& m) { On(m); }, message);
    FailBrokenFormations();
  }

  bool registered() const { return registered_; }
  const FailureReport& refusal() const { return refusal_; }

  // --- Clients ---

  absl::StatusOr<ClientId> Attach(const ClientHello& hello, ClientSink* sink) { return clients_.Add(hello, sink); }

  void Detach(ClientId id, bool died, const std::string& how) {
    Client* client = clients_.Find(id);
    if (client == nullptr) return;
    for (auto it = joins_.begin(); it != joins_.end();) {
      if (it->second.client != id) {
        ++it;
        continue;
      }
      SendToPlanner(schedule::CancelJoin{
          .request = it->first,
          .why = {Failure::kMemberLost, absl::StrCat("rank ", it->second.request.rank.value(), " on node ",
                                                     options_.node.name, " lost: ", how)}});
      it = joins_.erase(it);
    }
    const std::map<uint32_t, Membership> memberships = client->memberships;
    for (const auto& [handle, membership] : memberships) {
      Team* team = FindTeam(membership.team);
      if (team == nullptr) continue;
      // A member that goes while calls of it run has not taken leave, whatever it says.
      if (died || team->HasCallInFlight(membership.rank)) {
        team->Break({Failure::kMemberLost,
                     absl::StrCat("rank ", membership.rank.value(), " on node ", options_.node.name, " lost: ", how)});
      }
      Leave(team, membership.rank);
    }
    clients_.Remove(id);
  }

  void CreateTeam(ClientId id, const TeamRequest& request) {
    Client* client = clients_.Find(id);
    CHECK(client != nullptr);
    Join join{.client = id, .request = request};
    join.identity = {.uid = client->hello.uid, .job = client->hello.job, .nonce = request.nonce, .name = request.name};
    if (request.size == 0 || request.rank.value() >= request.size) {
      return client->sink->OnTeamFailed(
          request.request, {Failure::kInvalidArgument,
                            absl::StrCat("team ", DescribeTeam(join.identity), ": rank (rank=", request.rank.value(),
                                         ", size=", request.size, ")")});
    }
    if (draining_) {
      return client->sink->OnTeamFailed(
          request.request,
          {Failure::kNoDaemon, absl::StrCat("team ", DescribeTeam(join.identity), ": node ", options_.node.name,
                                            " takes no new teams: ", drain_reason_)});
    }
    if (teams_.size() + joins_.size() >= options_.teams_max) {
      return client->sink->OnTeamFailed(
          request.request,
          {Failure::kNoResource,
           absl::StrCat("team ", DescribeTeam(join.identity), ": too many teams on node ", options_.node.name,
                        " (teams=", teams_.size() + joins_.size() + 1, ", limit=", options_.teams_max, ")")});
    }
    if (request.parent != 0) {
      const Membership* parent = client->FindMembership(request.parent);
      if (parent == nullptr) {
        return client->sink->OnTeamFailed(
            request.request,
            {Failure::kInvalidArgument,
             absl::StrCat("team ", DescribeTeam(join.identity), ": unknown parent (handle=", request.parent, ")")});
      }
      join.parent = parent->team;
    }
    if (registered_) SendJoin(next_join_, join);
    joins_.emplace(next_join_++, std::move(join));
  }

  void CancelCreateTeam(ClientId id, uint64_t request, const std::string& why) {
    for (auto it = joins_.begin(); it != joins_.end(); ++it) {
      if (it->second.client != id || it->second.request.request != request) continue;
      SendToPlanner(schedule::CancelJoin{.request = it->first, .why = {Failure::kTimedOut, why}});
      joins_.erase(it);
      return;
    }
  }

  void DestroyTeam(ClientId id, uint64_t request, uint32_t handle) {
    Client* client = clients_.Find(id);
    CHECK(client != nullptr);
    const Membership* membership = client->FindMembership(handle);
    if (membership == nullptr) {
      return client->sink->OnTeamDestroyed(
          request, {Failure::kInvalidArgument, absl::StrCat("destroy: unknown team (handle=", handle, ")")});
    }
    Team* team = FindTeam(membership->team);
    CHECK(team != nullptr);
    if (!team->broken() && team->HasCallInFlight(membership->rank)) {
      return client->sink->OnTeamDestroyed(
          request,
          {Failure::kInvalidArgument, absl::StrCat("destroy: team ", DescribeTeam(team->layout().identity),
                                                   " has calls in flight at rank ", membership->rank.value())});
    }
    const Rank rank = membership->rank;
    client->memberships.erase(handle);
    Leave(team, rank);
    client->sink->OnTeamDestroyed(request, {});
  }

  void Post(ClientId id, const CallPost& post) {
    Client* client = clients_.Find(id);
    CHECK(client != nullptr);
    ++client->outstanding;
    const Membership* membership = client->FindMembership(post.team);
    if (membership == nullptr) {
      if (options_.instruments != nullptr) options_.instruments->PostRefused();
      return Tell(
          id, {.value = post.value,
               .failure = {Failure::kInvalidArgument, absl::StrCat("post: unknown team (handle=", post.team, ")")}});
    }
    Team* team = FindTeam(membership->team);
    CHECK(team != nullptr);
    if (FailureReport bad = CheckPost(post, membership->rank, team->layout().shape.size());
        bad.failure != Failure::kNone) {
      if (options_.instruments != nullptr) options_.instruments->PostRefused();
      return Tell(id, {.value = post.value, .failure = std::move(bad)});
    }
    team->Post(membership->rank, post, options_.pending_calls_max);
    PumpTeams();
  }

  void PostNop(ClientId id, uint64_t value) {
    Client* client = clients_.Find(id);
    CHECK(client != nullptr);
    ++client->outstanding;
    emu::Descriptor event{.op = emu::OpCode::kEvent};
    event.value = value;
    const absl::Status posted = engine_.Post(client->port, {}, {event});
    if (!posted.ok()) {
      Tell(id, {.value = value, .failure = {Failure::kNoResource, std::string(posted.message())}});
    }
  }

  uint32_t PostRoom(ClientId id) const {
    const Client* client = clients_.Find(id);
    if (client == nullptr) return 0;
    return client->hello.eq_entries - std::min(client->hello.eq_entries, client->outstanding);
  }

  // --- The loop ---

  bool Progress() {
    const bool measuring = !meters_.empty();
    const absl::Time before = measuring ? clock_->Now() : absl::Time();
    bool any = engine_.Progress(kTurnBytes);
    const absl::Time now = clock_->Now();
    if (measuring) turn_cost_ = now - before;
    // Whoever was stopped for a while must not take its own silence for the others'.
    if (now - last_progress_ > options_.node_timeout / 2) neighbours_.Forgive(now - last_progress_);
    last_progress_ = now;
    if (any && trace() != nullptr) trace()->Stamp(now);
    any |= HandlePeers();
    any |= meters_.Progress();
    any |= PumpTeams();
    if (now >= next_tick_) Tick(now);
    return any;
  }

  absl::Time NextDeadline() const {
    if (neighbours_.size() == 0 && teams_.empty() && !connections_.waiting()) return absl::InfiniteFuture();
    return std::min(next_tick_, meters_.NextDeadline());
  }

  // --- Administration ---

  void StartDrain(const std::string& why) {
    if (draining_) return;
    draining_ = true;
    drain_reason_ = why;
    for (Client* client : clients_.All()) client->sink->OnClosing(why);
  }

  bool Idle() const {
    return std::none_of(teams_.begin(), teams_.end(),
                        [](const auto& entry) { return entry.second->HasCallInFlight(); });
  }

  emu::TraceRing* trace() const { return options_.instruments == nullptr ? nullptr : options_.instruments->trace(); }

  schedule::DaemonStatus Status(bool latencies) const {
    schedule::DaemonStatus status;
    status.node = options_.node.name;
    status.incarnation = options_.node.incarnation;
    status.state = draining_ ? "draining" : "ready";
    status.clients = static_cast<uint32_t>(clients_.size());
    status.teams = static_cast<uint32_t>(teams_.size());
    for (const auto& [id, team] : teams_) team->AppendStatus(&status);
    status.ranks = static_cast<uint32_t>(status.progress.size());
    AppendCounters(engine_.stats(), &status.counters);
    status.counters["daemon.neighbours"] = neighbours_.size();
    status.counters["daemon.heartbeats.sent"] = heartbeats_sent_;
    status.counters["daemon.heartbeats.received"] = heartbeats_received_;
    status.counters["daemon.neighbours.lost"] = neighbours_lost_;
    status.counters["calls.in_flight"] = status.calls.size();
    if (options_.instruments != nullptr) {
      options_.instruments->AppendCounters(&status.counters);
      if (latencies) status.latencies = options_.instruments->latencies().Rows();
    }
    AppendOldNames(&status.counters);
    return status;
  }

  void SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout) {
    options_.heartbeat = heartbeat;
    options_.node_timeout = node_timeout;
  }

  // --- emu::ControlSink: noted, handled when the engine is done with its turn ---

  void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) override {
    absl::StatusOr<PeerMessage> decoded =
        DecodePeerMessage(type, std::string_view(reinterpret_cast<const char*>(message.data()), message.size()));
    if (!decoded.ok()) {
      COPSE_LOG(kWarning, "from daemon ", from.value(), ": ", decoded.status().message());
      return;
    }
    peer_messages_.emplace_back(from, *std::move(decoded));
  }
  void OnPeerDown(Incarnation peer, const absl::Status& why) override {
    peers_down_.emplace_back(peer, std::string(why.message()));
  }
  void OnPeerHeard(Incarnation peer) override { neighbours_.Heard(peer, clock_->Now()); }

  // --- TeamHost ---

  absl::Time Now() const override { return clock_->Now(); }
  absl::Time EventTime() const override { return last_progress_; }
  Instruments* instruments() const override { return options_.instruments; }
  void Tell(ClientId id, const ClientEvent& event) override { clients_.Tell(id, event); }
  void SendToPeer(Incarnation peer, const PeerMessage& message) override {
    const EncodedPeerMessage encoded = EncodePeerMessage(message);
    const absl::Status sent = engine_.SendControl(
        peer, encoded.type,
        absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(encoded.body.data()), encoded.body.size()));
    if (!sent.ok()) COPSE_LOG(kDebug, "to daemon ", peer.value(), ": ", sent.message());
  }
  absl::Status AcquireNeighbour(const schedule::TeamNode& node) override {
    return neighbours_.Acquire(node, clock_->Now());
  }
  void ReleaseNeighbour(Incarnation peer) override { neighbours_.Release(peer, clock_->Now()); }

  // --- PairMeterHost ---

  absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) override {
    if (peer.incarnation == options_.node.incarnation) return absl::InvalidArgumentError("that is this daemon itself");
    return neighbours_.AcquireGuest(peer, clock_->Now());
  }
  void DisconnectAfterMeasuring(Incarnation peer) override { neighbours_.ReleaseGuest(peer, clock_->Now()); }
  absl::Status SendToMeasured(Incarnation peer, const PeerMessage& message) override {
    const EncodedPeerMessage encoded = EncodePeerMessage(message);
    return engine_.SendControl(
        peer, encoded.type,
        absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(encoded.body.data()), encoded.body.size()));
  }
  void OnMeasured(const schedule::MeasureReply& reply) override { SendToPlanner(reply); }

  // --- TeamHost, again ---

  void OnTeamBroken(TeamId team, const FailureReport& why) override {
    SendToPlanner(schedule::TeamBroken{.team = team, .why = why});
  }

 private:
  // A rank that wants to join a team, until the team is formed or fails.
  struct Join {
    ClientId client = 0;
    TeamRequest request;
    schedule::TeamIdentity identity;
    TeamId parent{0};
  };

  // --- Planner's messages ---

  void On(const schedule::Registered& m) {
    registered_ = m.accepted;
    weighs_silence_ = m.weighs_silence;
    refusal_ = m.why;
    if (!m.accepted) {
      COPSE_LOG(kError, "the planner refuses this daemon: ", m.why.text);
      return;
    }
    for (const TeamId id : m.forgotten) {
      if (Team* team = FindTeam(id))
        team->Break({Failure::kMemberLost, "the planner has ended this team while it could not be reached"});
    }
    // Joins that a prepared team answers are decided with that team, which Register has named.
    std::set<uint64_t> prepared;
    for (const auto& [id, requests] : forming_) {
      for (const auto& [request, rank] : requests) prepared.insert(request);
    }
    for (const auto& [request, join] : joins_) {
      if (!prepared.contains(request)) SendJoin(request, join);
    }
  }

  void On(const schedule::Prepare& m) {
    Team* team = FindTeam(m.layout.id);
    if (team == nullptr) {
      absl::StatusOr<NodeIndex> self = CheckLayout(m);
      if (!self.ok()) {
        schedule::PrepareReply reply{.team = m.layout.id, .epoch = m.epoch};
        reply.why = {self.status().code() == absl::StatusCode::kNotFound ? Failure::kMemberLost : Failure::kNoResource,
                     absl::StrCat("node ", options_.node.name, ": ", self.status().message())};
        return SendToPlanner(reply);
      }
      team = teams_.emplace(m.layout.id, std::make_unique<Team>(&engine_, this, m.layout, *self, &has_events_))
                 .first->second.get();
      forming_[m.layout.id] = m.requests;
    }
    schedule::PrepareReply reply = team->Prepare(m.epoch, m.plans);
    if (!reply.accepted) reply.why.text = absl::StrCat("node ", options_.node.name, ": ", reply.why.text);
    const bool drop = !reply.accepted && !team->ready() && !team->broken();
    SendToPlanner(reply);
    if (drop) {
      forming_.erase(m.layout.id);
      teams_.erase(m.layout.id);
    }
  }

  // Our place in a new team, or why we cannot be in it. NOT_FOUND: a member of it is gone.
  absl::StatusOr<NodeIndex> CheckLayout(const schedule::Prepare& m) const {
    const schedule::TeamLayout& layout = m.layout;
    if (draining_) return absl::ResourceExhaustedError(absl::StrCat("takes no new teams: ", drain_reason_));
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
    for (const auto& [request, rank] : m.requests) {
      if (!joins_.contains(request))
        return absl::NotFoundError(absl::StrCat("the process of rank ", rank.value(), " is gone"));
      if (rank.value() >= layout.shape.size() || layout.shape.node_of_rank[rank.value()] != self) {
        return absl::InvalidArgumentError(absl::StrCat("team layout: rank ", rank.value(), " is not on this node"));
      }
    }
    return self;
  }

  void On(const schedule::Commit& m) {
    Team* team = FindTeam(m.team);
    if (team == nullptr || team->broken()) return;  // FailBrokenFormations tells who waits for it
    const absl::Status committed = team->Commit(m.epoch, m.first_call, m.outgoing);
    if (!committed.ok()) {
      COPSE_LOG(kError, "team ", m.team.value(), ": ", committed.message());
      team->Break({Failure::kInternal, absl::StrCat("node ", options_.node.name, ": ", committed.message())});
      return;
    }
    SendToPlanner(schedule::CommitReply{.team = m.team, .epoch = m.epoch});
    const auto forming = forming_.extract(m.team);
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
      client->memberships[handle] = {.team = m.team, .rank = rank};
      team->Join(rank, client->id);
      client->sink->OnTeamReady(join.mapped().request.request, handle, team->layout());
    }
    for (const Rank rank : gone) {
      team->Break({Failure::kMemberLost, absl::StrCat("rank ", rank.value(), " on node ", options_.node.name,
                                                      " lost: its process went away while the team was formed")});
      Leave(team, rank);
    }
  }

  void On(const schedule::Abort& m) {
    for (const uint64_t request : m.requests) {
      const auto join = joins_.extract(request);
      if (join.empty()) continue;
      if (Client* client = clients_.Find(join.mapped().client))
        client->sink->OnTeamFailed(join.mapped().request.request, m.why);
    }
    Team* team = FindTeam(m.team);
    if (team == nullptr) return;
    if (team->ready() || team->broken()) {
      team->Abort(m.epoch);
      PumpTeams();
    } else {
      teams_.erase(m.team);
      // A planner that was restarted aborts what it does not know, but has not answered these ranks: they join again.
      const auto forming = forming_.extract(m.team);
      if (forming.empty()) return;
      for (const auto& [request, rank] : forming.mapped()) {
        const auto join = joins_.find(request);
        if (join != joins_.end()) SendJoin(request, join->second);
      }
    }
  }

  void On(const schedule::BreakTeam& m) {
    if (Team* team = FindTeam(m.team)) team->Break(m.why);
  }

  void On(const schedule::EndTeam&) {}  // a team goes here when its last member here leaves

  void On(const schedule::StatusQuery& m) {
    SendToPlanner(schedule::StatusReply{.query = m.query, .status = Status(m.latencies)});
  }

  void On(const schedule::TraceQuery& m) {
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

  void On(const schedule::MeasureQuery& m) { meters_.Start(m); }

  void On(const schedule::Drain& m) {
    if (m.on) {
      StartDrain("drained by the administrator");
    } else {
      draining_ = false;
    }
  }

  // --- Parts ---

  void SendToPlanner(const schedule::FromDaemon& message) {
    if (planner_up_) planner_->Send(message);
  }

  void SendJoin(uint64_t request, const Join& join) {
    SendToPlanner(schedule::JoinTeam{.request = request,
                                     .identity = join.identity,
                                     .parent = join.parent,
                                     .rank = join.request.rank,
                                     .size = join.request.size});
  }

  Team* FindTeam(TeamId id) {
    const auto it = teams_.find(id);
    return it == teams_.end() ? nullptr : it->second.get();
  }

  void Leave(Team* team, Rank rank) {
    if (!team->Leave(rank)) return;
    SendToPlanner(schedule::LeaveTeam{.team = team->id()});
    teams_.erase(team->id());
  }

  // A team may break before its Commit has come: by a neighbour that had it earlier, or by the planner.
  void FailBrokenFormations() {
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
      SendToPlanner(schedule::LeaveTeam{.team = id});
      teams_.erase(id);
    }
  }

  bool PumpTeams() {
    if (!std::exchange(has_events_, false)) return false;
    for (const auto& [id, team] : teams_) team->Pump();
    return true;
  }

  bool HandlePeers() {
    const auto down = std::exchange(peers_down_, {});
    const auto messages = std::exchange(peer_messages_, {});
    for (const auto& [from, message] : messages) {
      if (std::holds_alternative<HeartbeatMessage>(message)) {  // OnPeerHeard has noted it
        ++heartbeats_received_;
        continue;
      }
      if (const std::optional<MeterMessage> meter = AsMeterMessage(message)) {
        meters_.OnMessage(from, *meter, turn_cost_);
        continue;
      }
      const TeamId id = std::visit(TeamOf{}, message);
      if (Team* team = FindTeam(id)) team->OnPeerMessage(from, message);
    }
    for (const auto& [peer, why] : down) {
      // What is known of a node from measuring alone must not break a team that reaches it on another way.
      const bool guest = neighbours_.OnlyGuest(peer);
      meters_.OnPeerDown(peer, why);
      if (guest) {
        neighbours_.Lost(peer);
      } else {
        LoseNode(peer, why);
      }
    }
    FailBrokenFormations();
    return !down.empty() || !messages.empty();
  }

  struct TeamOf {
    template <typename Message>
    TeamId operator()(const Message& m) const {
      if constexpr (requires { m.team; }) {
        return m.team;
      } else {
        return TeamId(0);
      }
    }
  };

  void LoseNode(Incarnation peer, const std::string& why) {
    COPSE_LOG(kInfo, "neighbour ", peer.value(), " lost: ", why);
    ++neighbours_lost_;
    for (const auto& [id, team] : teams_) team->OnNodeLost(peer, why);
    neighbours_.Lost(peer);
  }

  // A cut link looks the same from both ends. So who is lost is the planner's verdict, which hears them all, and comes
  // as BreakTeam; without one, the neighbour is.
  void WeighSilence(absl::Time now) {
    const std::vector<schedule::TeamNode> silent = neighbours_.Silent(now, options_.node_timeout);
    for (auto it = accused_.begin(); it != accused_.end();) {
      const Incarnation peer = it->first;
      const bool still = std::any_of(silent.begin(), silent.end(),
                                     [&](const schedule::TeamNode& node) { return node.incarnation == peer; });
      if (still) {
        ++it;
        continue;
      }
      if (registered_) SendToPlanner(schedule::NeighbourSilent{.neighbour = peer, .silent = false});
      if (!neighbours_.InUse(peer)) {  // the verdict has come
        ++neighbours_lost_;
        neighbours_.Lost(peer);
      }
      it = accused_.erase(it);
    }
    for (const schedule::TeamNode& node : silent) {
      const auto [it, is_new] = accused_.try_emplace(node.incarnation, now);
      if (registered_ && weighs_silence_ && is_new) {
        Accuse(node.incarnation, now);
      } else if (!registered_ || !weighs_silence_ || now - it->second >= kVerdictWait * options_.heartbeat) {
        accused_.erase(it);
        LoseNode(node.incarnation, absl::StrCat("silent for ", absl::FormatDuration(options_.node_timeout)));
      }
    }
  }

  void Accuse(Incarnation peer, absl::Time now) {
    // Of what is about to be silent too, nothing was heard for long.
    const absl::Duration lately = std::max(options_.node_timeout / 2, kOthersNotice * options_.heartbeat);
    schedule::NeighbourSilent message{.neighbour = peer, .living = neighbours_.HeardSince(now - lately)};
    message.silent_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(options_.node_timeout));
    message.others_due_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(kOthersNotice * options_.heartbeat));
    for (const auto& [id, team] : teams_) {
      if (team->HasEdgeTo(peer)) message.teams.push_back(id);
    }
    SendToPlanner(message);
  }

  void Tick(absl::Time now) {
    next_tick_ = now + options_.heartbeat / 2;
    for (const Incarnation peer : neighbours_.DueHeartbeats(now, options_.heartbeat)) {
      ++heartbeats_sent_;
      SendToPeer(peer, HeartbeatMessage{});
    }
    WeighSilence(now);
    neighbours_.DropUnused(now);
    connections_.Tick();
    for (const auto& [id, team] : teams_) {
      team->ProbeStalled(options_.stall_probe);
      if (team->AskForDecision(options_.decision_ask)) {
        SendToPlanner(schedule::EpochQuery{.team = id, .epoch = team->prepared_epoch()});
      }
    }
  }

  const Clock* const clock_;
  PlannerLink* const planner_;
  CoreOptions options_;
  bool has_events_ = false;  // before engine_ and teams_, which write it
  Connections connections_;
  emu::Engine engine_;
  NeighbourTable neighbours_;
  PairMeters meters_;         // ends before the connections that it lets go
  absl::Duration turn_cost_;  // of the engine's last turn, while anything is measured
  ClientTable clients_;
  std::map<TeamId, std::unique_ptr<Team>> teams_;
  std::map<TeamId, std::vector<std::pair<uint64_t, Rank>>> forming_;  // whose joins a team answers
  std::map<uint64_t, Join> joins_;                                    // by our request number
  uint64_t next_join_ = 1;
  uint32_t next_handle_ = 1;
  bool planner_up_ = false;
  bool registered_ = false;
  bool weighs_silence_ = false;                // the planner does
  std::map<Incarnation, absl::Time> accused_;  // silent neighbours whose verdict is waited for, and since when
  FailureReport refusal_;
  bool draining_ = false;
  std::string drain_reason_;
  std::vector<std::pair<Incarnation, PeerMessage>> peer_messages_;
  std::vector<std::pair<Incarnation, std::string>> peers_down_;
  uint64_t heartbeats_sent_ = 0;
  uint64_t heartbeats_received_ = 0;
  uint64_t neighbours_lost_ = 0;
  absl::Time last_progress_;
  absl::Time next_tick_ = absl::InfinitePast();
};

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
void DaemonCore::Post(ClientId client, const CallPost& post) { impl_->Post(client, post); }
void DaemonCore::PostNop(ClientId client, uint64_t value) { impl_->PostNop(client, value); }
uint32_t DaemonCore::PostRoom(ClientId client) const { return impl_->PostRoom(client); }
bool DaemonCore::Progress() { return impl_->Progress(); }
absl::Time DaemonCore::NextDeadline() const { return impl_->NextDeadline(); }
void DaemonCore::StartDrain(const std::string& why) { impl_->StartDrain(why); }
bool DaemonCore::Idle() const { return impl_->Idle(); }
schedule::DaemonStatus DaemonCore::Status(bool latencies) const { return impl_->Status(latencies); }
void DaemonCore::SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout) {
  impl_->SetTimeouts(heartbeat, node_timeout);
}

}  // namespace copse::daemon
