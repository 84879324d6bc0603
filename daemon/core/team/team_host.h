// SPDX-License-Identifier: Apache-2.0
//
// Defines the interfaces through which teams use their daemon.
#ifndef COPSE_DAEMON_CORE_TEAM_TEAM_HOST_H_
#define COPSE_DAEMON_CORE_TEAM_TEAM_HOST_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/peers/peer_messages.h"
#include "protocol/control.h"

namespace copse::daemon {

// A PeerLink keeps connections to other daemons, and sends messages on them.
class PeerLink {
 public:
  virtual ~PeerLink() = default;
  // Drops the message if it cannot be sent.
  virtual void SendToPeer(Incarnation peer, const PeerMessage& message) = 0;
  // Each AcquireNeighbor that succeeds must be matched by one ReleaseNeighbor. Errors are the transport's.
  virtual absl::Status AcquireNeighbor(const schedule::TeamNode& node) = 0;
  virtual void ReleaseNeighbor(Incarnation peer) = 0;
};

// A CallHost gives access to time, clients and instruments.
class CallHost {
 public:
  virtual ~CallHost() = default;
  virtual absl::Time Now() const = 0;
  // Returns the end of the last Engine::Progress, which has produced the current events, without a read of the clock.
  virtual absl::Time EventTime() const = 0;
  // Returns null if nothing is measured.
  virtual Instruments* instruments() const = 0;
  // Does nothing if the client is gone.
  virtual void Notify(ClientId client, const ClientEvent& event) = 0;
};

// A TeamHost is the daemon as a whole team uses it.
class TeamHost : public PeerLink, public CallHost {
 public:
  // A team calls it once, when it breaks, after it has notified its clients. The callee must not delete the team.
  virtual void OnTeamBroken(TeamId team, const schedule::FailureReport& why) = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_HOST_H_
