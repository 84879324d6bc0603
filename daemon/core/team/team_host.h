// SPDX-License-Identifier: Apache-2.0
//
// The daemon as its teams use it.
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

// Connections to other daemons, and messages on them.
class PeerLink {
 public:
  virtual ~PeerLink() = default;
  virtual void SendToPeer(Incarnation peer, const PeerMessage& message) = 0;
  // Each AcquireNeighbour that succeeds is matched by one ReleaseNeighbour.
  virtual absl::Status AcquireNeighbour(const schedule::TeamNode& node) = 0;
  virtual void ReleaseNeighbour(Incarnation peer) = 0;
};

// Time, clients and instruments.
class CallHost {
 public:
  virtual ~CallHost() = default;
  virtual absl::Time Now() const = 0;
  // The time at which the present events of the engine were taken. It costs no read of the clock.
  virtual absl::Time EventTime() const = 0;
  virtual Instruments* instruments() const = 0;  // null: none
  virtual void Notify(ClientId client, const ClientEvent& event) = 0;
};

class TeamHost : public PeerLink, public CallHost {
 public:
  // Called once for a team, after its clients were notified.
  virtual void OnTeamBroken(TeamId team, const schedule::FailureReport& why) = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_HOST_H_
