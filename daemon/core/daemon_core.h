// SPDX-License-Identifier: Apache-2.0
//
// The daemon's core: clients, teams, epochs and failures of one node, as a single-threaded state machine. It works on
// shared memory (daemon/shm), the planner's stream (daemon/rpc) and a network (offload_emu's Transport) by interfaces;
// the simulator implements them, too.
#ifndef COPSE_DAEMON_CORE_DAEMON_CORE_H_
#define COPSE_DAEMON_CORE_DAEMON_CORE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/client_table.h"
#include "daemon/core/core_options.h"
#include "daemon/core/drain_state.h"
#include "daemon/core/peers/connections.h"
#include "daemon/core/peers/neighbours.h"
#include "daemon/core/peers/pair_meters.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/silence_watch.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team_registry.h"
#include "offload_emu/engine.h"
#include "offload_emu/transport.h"
#include "protocol/control.h"

namespace copse::daemon {

// A DaemonCore owns the engine and the parts below, and passes messages and events between them. All calls come from
// one thread. `*clock`, `*transport`, `*planner` and every ClientSink (until its Detach) outlive it.
class DaemonCore : private emu::ControlSink, private TeamHost, private PairMeterHost {
 public:
  DaemonCore(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options);

  // --- Planner ---
  void OnPlannerUp();    // the stream is up: registers, with all running teams
  void OnPlannerDown();  // running teams go on
  void OnPlannerMessage(const schedule::ToDaemon& message);
  bool registered() const { return planner_.registered(); }  // accepted by the planner since OnPlannerUp
  const schedule::FailureReport& refusal() const { return planner_.refusal(); }  // why not, if it refused

  // --- Clients ---
  absl::StatusOr<ClientId> Attach(const ClientHello& hello, ClientSink* sink) { return clients_.Add(hello, sink); }
  // Ends the client. `died`: it ended with live teams, which break with `how` ("process 4711 was killed") in the text.
  // On return the core holds no pointer into the client's memory.
  void Detach(ClientId client, bool died, const std::string& how);
  void CreateTeam(ClientId client, const TeamRequest& request);
  // The client's time-out for OnTeamReady is over.
  void CancelCreateTeam(ClientId client, uint64_t request, const std::string& why) {
    registry_.formations().Cancel(client, request, why);
  }
  void DestroyTeam(ClientId client, uint64_t request, uint32_t handle);
  // Every post, also an invalid one, gets exactly one OnEvent, unless the client is detached before.
  void Post(ClientId client, CallPost post);
  void PostNop(ClientId client, uint64_t value);
  // Number of posts that the completion queue still has room for; the caller reads no more entries of the submission
  // queue.
  uint32_t PostRoom(ClientId client) const;

  // --- The loop ---
  // Progresses network and engine, and runs timers that are due. Returns true if it did anything: then call it again
  // soon.
  bool Progress();
  // The latest time for the next Progress.
  absl::Time NextDeadline() const;
  // Dies if an invariant of the core or its engine does not hold. Tests and the simulator call it, while Progress has
  // nothing to do; its cost grows with the number of teams and calls.
  void CheckInvariants() const;

  // --- Administration ---
  void StartDrain(const std::string& why);  // accepts no new teams, and notifies the clients
  // Notifies the planner that the daemon is about to end, or (`done`) that it ends now; again whenever the daemon
  // registers until then.
  void SayStopping(bool done);
  bool Idle() const { return registry_.Idle(); }  // no call in flight
  schedule::DaemonStatus Status(bool latencies = false) const;
  void SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout) {
    options_.heartbeat = heartbeat;
    options_.node_timeout = node_timeout;
  }
  void SetJoinToken(const std::string& token) { options_.node.join_token = token; }  // from the next Register on

 private:
  // --- emu::ControlSink: queues, for HandlePeers after the engine's turn ---
  void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;
  void OnPeerHeard(Incarnation peer) override { neighbours_.OnReceived(peer, clock_->Now()); }

  // --- TeamHost ---
  absl::Time Now() const override { return clock_->Now(); }
  absl::Time EventTime() const override { return last_progress_; }
  Instruments* instruments() const override { return options_.instruments; }
  void Notify(ClientId id, const ClientEvent& event) override { clients_.Notify(id, event); }
  void SendToPeer(Incarnation peer, const PeerMessage& message) override;
  absl::Status AcquireNeighbour(const schedule::TeamNode& node) override {
    return neighbours_.Acquire(node, clock_->Now());
  }
  void ReleaseNeighbour(Incarnation peer) override { neighbours_.Release(peer, clock_->Now()); }
  void OnTeamBroken(TeamId team, const schedule::FailureReport& why) override { registry_.OnBroken(team, why); }

  // --- PairMeterHost ---
  absl::Status ConnectForMeasuring(const schedule::TeamNode& peer) override;
  void DisconnectAfterMeasuring(Incarnation peer) override { neighbours_.ReleaseGuest(peer, clock_->Now()); }
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
  void On(const schedule::StatusQuery& m);
  void On(const schedule::TraceQuery& m);
  void On(const schedule::MeasureQuery& m) { meters_.Start(m); }
  void On(const schedule::Drain& m) { SetDrained(m.on); }

  // --- Neighbors ---
  bool HandlePeers();
  absl::Status SendMessage(Incarnation peer, const PeerMessage& message, emu::ControlPlace place);
  void OnConnectionLost(Incarnation peer);
  void LoseNode(Incarnation peer, const schedule::FailureReport& why);

  emu::TraceRing* trace() const { return options_.instruments == nullptr ? nullptr : options_.instruments->trace(); }
  SilenceWatch::Timeouts timeouts() const { return {options_.heartbeat, options_.node_timeout}; }
  void SetDrained(bool drained);
  void SayClosing();
  void Tick(absl::Time now);

  struct Counters {
    uint64_t heartbeats_sent = 0;
    uint64_t heartbeats_received = 0;
    uint64_t neighbours_lost = 0;
    absl::Duration held;  // sum over teams whose calls waited for the decision of a switch
  };

  const Clock* const clock_;
  CoreOptions options_;
  PlannerSession planner_;
  Connections connections_;
  emu::Engine engine_;
  NeighbourTable neighbours_;
  PairMeters meters_;         // ends before the connections that it releases
  absl::Duration turn_cost_;  // duration of the engine's last turn, if a measurement runs
  ClientTable clients_;
  DrainState drain_;
  TeamRegistry registry_;
  SilenceWatch silence_;
  bool is_stopping_ = false;  // repeated to the planner at each registration
  std::vector<std::pair<Incarnation, PeerMessage>> peer_messages_;
  std::vector<Incarnation> peers_down_;
  Counters counters_;
  absl::Time last_progress_;
  absl::Time next_tick_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DAEMON_CORE_H_
