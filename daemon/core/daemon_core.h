// SPDX-License-Identifier: Apache-2.0
//
// The daemon's core: clients, teams, epochs and failures of one node, as a single-threaded state machine. Its skins
// bring it shared memory (daemon/shm), the planner's stream (daemon/rpc) and a network (offload_emu's Transport); the
// simulator brings it virtual ones.
#ifndef COPSE_DAEMON_CORE_DAEMON_CORE_H_
#define COPSE_DAEMON_CORE_DAEMON_CORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/client_interface.h"
#include "daemon/core/instruments.h"
#include "offload_emu/transport.h"
#include "protocol/control.h"

namespace copse::daemon {

// The way to the planner. Messages sent while it is down are dropped: the core says all again in Register.
class PlannerLink {
 public:
  virtual ~PlannerLink() = default;
  virtual void Send(const schedule::FromDaemon& message) = 0;
};

struct CoreOptions {
  schedule::NodeAnnouncement node;
  absl::Duration heartbeat = absl::Milliseconds(500);
  absl::Duration node_timeout = absl::Seconds(10);
  absl::Duration stall_probe = absl::Seconds(1);  // a call older than this compares arguments with its neighbours
  absl::Duration formation_timeout =
      absl::Seconds(30);  // calls that need the planner wait so long for one that is away
  // New teams wait so long for a planner that is away, which may be restarting.
  absl::Duration planner_patience = absl::Seconds(5);
  absl::Duration decision_ask = absl::Seconds(2);  // a prepared epoch older than this asks planner and neighbours
  uint32_t clients_max = 1024;
  uint32_t teams_max = 1024;
  uint32_t pending_calls_max = 1024;  // of one rank, posted and waiting for their slot
  uint64_t memory_limit_bytes = 256u << 20;
  Instruments* instruments = nullptr;  // null: calls are not measured; outlives the core
};

// A DaemonCore owns its engine. Calls come from one thread: skins queue what other threads see.
// `*clock`, `*transport`, `*planner` and every ClientSink (until its Detach) outlive it.
class DaemonCore {
 public:
  DaemonCore(const Clock* clock, emu::Transport* transport, PlannerLink* planner, CoreOptions options);
  ~DaemonCore();

  // --- Planner ---
  void OnPlannerUp();    // the stream stands: registers, with all running teams
  void OnPlannerDown();  // running teams go on
  void OnPlannerMessage(const schedule::ToDaemon& message);
  bool registered() const;                         // accepted by the planner since OnPlannerUp
  const schedule::FailureReport& refusal() const;  // why not, if it refused

  // --- Clients ---
  absl::StatusOr<ClientId> Attach(const ClientHello& hello, ClientSink* sink);
  // Ends the client. `died`: it had not taken leave; its teams are broken, with `how` ("process 4711 was killed") in
  // the text. On return the core holds no pointer into the client's memory.
  void Detach(ClientId client, bool died, const std::string& how);
  void CreateTeam(ClientId client, const TeamRequest& request);
  // A client gave up waiting for OnTeamReady.
  void CancelCreateTeam(ClientId client, uint64_t request, const std::string& why);
  void DestroyTeam(ClientId client, uint64_t request, uint32_t handle);
  // Every post is answered by exactly one OnEvent, also a bad one (unless the client is detached first).
  void Post(ClientId client, CallPost post);
  void PostNop(ClientId client, uint64_t value);
  // Posts that may still be outstanding before the event queue could overflow; the skin reads no more DQ entries than
  // this.
  uint32_t PostRoom(ClientId client) const;

  // --- The loop ---
  // Moves network and engine on and runs timers that are due. True if it did anything (then call again soon).
  bool Progress();
  // When Progress must be called at the latest.
  absl::Time NextDeadline() const;

  // --- Administration ---
  void StartDrain(const std::string& why);  // no new teams; clients are told
  // Tells the planner that the daemon is about to end, or (`done`) that it ends now. It is told again where it
  // registers meanwhile.
  void SayStopping(bool done);
  bool Idle() const;  // no call in flight
  schedule::DaemonStatus Status(bool latencies = false) const;
  void SetTimeouts(absl::Duration heartbeat, absl::Duration node_timeout);
  void SetJoinToken(const std::string& token);  // from the next Register on

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_DAEMON_CORE_H_
