// SPDX-License-Identifier: Apache-2.0
//
// Defines the daemon's core, which handles clients, teams, epochs and failures of one node as a single-threaded state
// machine. It reaches shared memory (daemon/shm), the planner's stream (daemon/rpc) and the network (offload_emu's
// Transport) through interfaces, which the simulator implements, too.
#ifndef COPSE_DAEMON_CORE_DAEMON_CORE_H_
#define COPSE_DAEMON_CORE_DAEMON_CORE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/log_budget.h"
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/client_table.h"
#include "daemon/core/core_options.h"
#include "daemon/core/drain_state.h"
#include "daemon/core/peers/connections.h"
#include "daemon/core/peers/departures.h"
#include "daemon/core/peers/neighbors.h"
#include "daemon/core/peers/pair_meters.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/silence_watch.h"
#include "daemon/core/team/checked_prepare.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_registry.h"
#include "offload_emu/engine.h"
#include "offload_emu/transport.h"
#include "protocol/control.h"

namespace copse::daemon {

// A DaemonCore owns the engine, the clients, the connections and the teams, and passes messages and events between
// them. All calls come from one thread. `*clock`, `*transport` and `*planner` must outlive it, a ClientSink its Detach.
class DaemonCore : private emu::ControlSink, private TeamHost, private PairMeterHost {
 public:
  DaemonCore(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options);

  // --- Planner ---
  // The stream is up: sends Register with the teams of this node.
  void OnPlannerUp();
  // Opens the data plane, if it is not open: a planner that does not send AddressQuery wants the address with Register.
  // Errors: the transport's.
  absl::Status OpenNetwork();
  // The stream is down. Running teams continue without the planner.
  void OnPlannerDown();
  // A Prepare is checked here. Programs whose loop must not stand still meanwhile check it elsewhere, for OnPrepare.
  void OnPlannerMessage(const schedule::ToDaemon& message);
  // Handles a Prepare that was checked, by a PrepareChecker of this daemon's incarnation.
  void OnPrepare(const CheckedPrepare& prepare);
  // Returns whether the stream is up and the planner has accepted this daemon on it.
  bool registered() const { return planner_.registered(); }
  // Returns why the planner's latest answer to Register was a refusal; kNone: it was not.
  const schedule::FailureReport& refusal() const { return planner_.refusal(); }

  // --- Clients ---
  // Adds a client. RESOURCE_EXHAUSTED beyond CoreOptions::clients_max; other errors are the engine's.
  absl::StatusOr<ClientId> Attach(const ClientHello& hello, ClientSink* sink) { return clients_.Add(hello, sink); }
  // Removes the client, if it is attached: cancels its requests for teams, and its ranks leave their teams. A team
  // breaks, with `how` ("process 4711 was killed") in the text, if `died` is set or the rank has a call in flight. On
  // return the core holds no pointer into the client's memory.
  void Detach(ClientId client, bool died, const std::string& how);
  // Requests a team for an attached client, which gets one OnTeamReady or OnTeamFailed, perhaps before this returns.
  void CreateTeam(ClientId client, const TeamRequest& request);
  // Drops a request whose time at the client is over, and notifies the planner. The client gets no event for it.
  // Requests that have ended are ignored.
  void CancelCreateTeam(ClientId client, uint64_t request, const std::string& why) {
    registry_.formations().Cancel(client, request, why);
  }
  // Calls OnTeamDestroyed before it returns. Fails with kInvalidArgument, and changes nothing, if the handle is unknown
  // or the rank has calls in flight in a team that is not broken.
  void DestroyTeam(ClientId client, uint64_t request, uint32_t handle);
  // Every post of an attached client, also an invalid one, gets exactly one OnEvent, unless its rank leaves before.
  void Post(ClientId client, CallPost post);
  // Posts a call that does nothing. OnEvent comes from Progress, or at once with kNoResource if the engine refuses it.
  void PostNop(ClientId client, uint64_t value);
  // Returns the number of posts that the client's completion queue has room for; 0 for an unknown client. The caller
  // must not take more entries from the submission queue.
  uint32_t PostRoom(ClientId client) const;

  // Returns the accounts of users' jobs, for what else is counted by them. They end before the core.
  Accounts& accounts() { return accounts_; }
  // Sets the maxima and weights of users.
  void SetQuotas(QuotaRules rules);
  const Accounts& accounts() const { return accounts_; }

  // --- The loop ---
  // Progresses network and engine, and runs timers that are due. Returns true if it handled frames, operations or
  // events; more of them may be ready then.
  bool Progress();
  // Returns the latest time for the next Progress, even if nothing arrives. A caller that is much later counts as
  // having stood still.
  absl::Time NextDeadline() const;
  // Dies if an invariant of the core or its engine does not hold. Tests and the simulator call it while Progress has
  // nothing to do; its cost grows with the number of teams and calls.
  void CheckInvariants() const;

  // --- Administration ---
  // Accepts no new teams from now on, and calls OnClosing(why) of all clients. Only the first call counts.
  void StartDrain(const std::string& why);
  // Returns why no new teams are accepted; empty: they are.
  std::string_view drain_reason() const { return drain_.reason(); }
  // Notifies the planner that the daemon is about to stop, or (`done`) that it stops now. The former is repeated
  // whenever the planner accepts the daemon anew. Planners without Feature::kStopping are not notified.
  void SayStopping(bool done);
  // Returns whether no call is in flight or waits to start.
  bool Idle() const { return registry_.Idle(); }
  // Returns the state of this daemon; with `latencies`, also the histograms of its calls.
  schedule::DaemonStatus Status(bool latencies = false) const;
  void SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout) {
    options_.heartbeat = heartbeat;
    options_.node_timeout = node_timeout;
  }
  // Takes effect with the next OnPlannerUp.
  void SetJoinToken(const std::string& token) { options_.node.join_token = token; }

 private:
  // --- emu::ControlSink: queues messages and losses, which HandlePeers handles after Engine::Progress ---
  void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;
  void OnPeerHeard(Incarnation peer) override { neighbors_.OnReceived(peer, clock_->Now()); }

  // --- TeamHost ---
  absl::Time Now() const override { return clock_->Now(); }
  absl::Time EventTime() const override { return last_progress_; }
  Instruments* instruments() const override { return options_.instruments; }
  void Notify(ClientId id, const ClientEvent& event) override { clients_.Notify(id, event); }
  void SendToPeer(Incarnation peer, const PeerMessage& message) override;
  absl::Status AcquireNeighbor(const schedule::TeamNode& node) override {
    return neighbors_.Acquire(node, clock_->Now());
  }
  void ReleaseNeighbor(Incarnation peer) override { neighbors_.Release(peer, clock_->Now()); }
  void OnTeamBroken(TeamId team, const schedule::FailureReport& why) override { registry_.OnBroken(team, why); }

  // --- PairMeterHost ---
  absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) override;
  void DisconnectAfterMeasuring(Incarnation peer) override { neighbors_.ReleaseGuest(peer, clock_->Now()); }
  absl::Status SendToMeasured(Incarnation peer, const PeerMessage& message) override {
    return SendMessage(peer, message, emu::ControlPlace::kAsData);
  }
  void OnMeasured(const schedule::MeasureReply& reply) override { planner_.Send(reply); }

  // --- The planner's messages ---
  void On(const schedule::Registered& m);
  template <typename TeamMessage>
  void On(const TeamMessage& m) {
    registry_.On(m);
  }
  void On(const schedule::Prepare& m) { registry_.On(checker_.Check(m)); }
  void On(const schedule::StatusQuery& m);
  void On(const schedule::TraceQuery& m);
  void On(const schedule::MeasureQuery& m) { meters_.Start(m); }
  void On(const schedule::Drain& m) { SetDrained(m.on); }
  void On(const schedule::Cluster& m) {
    planner_.SetCluster(m.uuid);
    registry_.On(m);
  }
  void On(const schedule::Ping&) { planner_.Send(schedule::Pong{}); }
  void On(const schedule::AddressQuery&);
  void On(const schedule::PlansQuery& m);

  // --- Neighbors ---
  bool HandlePeers();
  absl::Status SendMessage(Incarnation peer, const PeerMessage& message, emu::ControlPlace place);
  void OnConnectionLost(Incarnation peer);
  // Sends what `departures_` holds.
  void SendDepartures();
  void LoseNode(Incarnation peer, const schedule::FailureReport& why);

  OwnRecords RecordsOf(uint32_t uid) const;
  emu::TraceRing* trace() const { return options_.instruments == nullptr ? nullptr : options_.instruments->trace(); }
  SilenceWatch::Timeouts timeouts() const { return {options_.heartbeat, options_.node_timeout}; }
  void SetDrained(bool drained);
  void SayClosing();
  void AppendAccounts(schedule::DaemonStatus* status) const;
  void Tick(absl::Time now);

  const Clock* const clock_;
  CoreOptions options_;
  Accounts accounts_;
  PlannerSession planner_;
  Connections connections_;
  emu::Engine engine_;
  NeighborTable neighbors_;
  PairMeters meters_;         // destroyed before `neighbors_`, whose connections it releases
  absl::Duration turn_cost_;  // duration of the last Engine::Progress while a measurement ran
  ClientTable clients_;
  DrainState drain_;
  TeamRegistry registry_;
  PrepareChecker checker_;
  SilenceWatch silence_;
  std::vector<std::pair<Incarnation, PeerMessage>> peer_messages_;
  std::vector<Incarnation> peers_down_;
  Departures departures_;
  uint64_t neighbors_lost_ = 0;
  LogBudget lines_;  // about messages of neighbors that cannot be read
  absl::Time last_progress_;
  absl::Time next_tick_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DAEMON_CORE_H_
