// SPDX-License-Identifier: Apache-2.0
//
// The daemons that share an edge with this one: connections, heartbeats, silence.
#ifndef COPSE_DAEMON_CORE_PEERS_NEIGHBOURS_H_
#define COPSE_DAEMON_CORE_PEERS_NEIGHBOURS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/connections.h"
#include "protocol/control.h"

namespace copse::daemon {

// A NeighbourTable connects to a neighbor on its first Acquire and disconnects a while after the last Release, so that
// the last messages still leave. Thread-compatible; the core owns it. `*connections` outlives it.
class NeighbourTable {
 public:
  explicit NeighbourTable(Connections* connections) : connections_(connections) {}

  // Each Acquire is matched by one Release. An error is the transport's.
  absl::Status Acquire(const schedule::TeamNode& node, absl::Time now);
  void Release(Incarnation peer, absl::Time now);
  // Connects without heartbeats, and silence means nothing. Each AcquireGuest is matched by one ReleaseGuest.
  absl::Status AcquireGuest(const schedule::TeamNode& node, absl::Time now);
  void ReleaseGuest(Incarnation peer, absl::Time now);
  // Whether the connection has guests only: its end is no evidence of a node's death.
  bool OnlyGuest(Incarnation peer) const;
  // The connection is gone, or was declared lost: forgets the neighbor. Its Releases may still come.
  void Lost(Incarnation peer);

  void OnReceived(Incarnation peer, absl::Time now);
  // This daemon stood still for `gap`: that time does not count as silence of any neighbor.
  void AllowFor(absl::Duration gap);
  // Returns the neighbors in use to which a heartbeat is due, and marks it as sent.
  std::vector<Incarnation> DueHeartbeats(absl::Time now, absl::Duration interval);
  // Returns the neighbors in use that have been silent for `timeout`.
  std::vector<schedule::TeamNode> Silent(absl::Time now, absl::Duration timeout) const;
  // Returns the number of neighbors in use of which something was received since `then`.
  uint32_t ReceivedSince(absl::Time then) const;
  bool InUse(Incarnation peer) const;
  // Releases connections that have been unused for a while.
  void DropUnused(absl::Time now);

  size_t size() const { return neighbours_.size(); }

 private:
  struct Neighbour {
    schedule::TeamNode node;
    uint32_t users = 0;
    uint32_t guests = 0;
    absl::Time last_received;
    absl::Time sent;      // the last heartbeat
    absl::Time released;  // the last Release, or ReleaseGuest
  };
  Connections* connections_;
  std::map<Incarnation, Neighbour> neighbours_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_NEIGHBOURS_H_
