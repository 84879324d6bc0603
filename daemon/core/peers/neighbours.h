// SPDX-License-Identifier: Apache-2.0
//
// The daemons that this one shares an edge with: connections, heartbeats, silence.
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

// A NeighbourTable connects to a neighbour on its first Acquire and lets go a while after the last Release, so that
// what was sent last still leaves. Thread-compatible; owned by the core. `*connections` outlives it.
class NeighbourTable {
 public:
  explicit NeighbourTable(Connections* connections) : connections_(connections) {}

  // Each Acquire is matched by one Release. An error is the transport's.
  absl::Status Acquire(const schedule::TeamNode& node, absl::Time now);
  void Release(Incarnation peer, absl::Time now);
  // A connection of which nobody expects anything: no heartbeats, and its silence means nothing. Matched by
  // ReleaseGuest.
  absl::Status AcquireGuest(const schedule::TeamNode& node, absl::Time now);
  void ReleaseGuest(Incarnation peer, absl::Time now);
  // Whether it is connected for guests alone: the end of such a connection is no evidence of a node's death.
  bool OnlyGuest(Incarnation peer) const;
  // The connection is gone, or was declared so: forget it. Its Releases may still come.
  void Lost(Incarnation peer);

  void Heard(Incarnation peer, absl::Time now);
  // This daemon itself stood still for `gap`: nobody's silence counts for that time.
  void Forgive(absl::Duration gap);
  // Neighbours that are in use, due a heartbeat; marks them as sent to.
  std::vector<Incarnation> DueHeartbeats(absl::Time now, absl::Duration interval);
  // Neighbours in use that have been silent for `timeout`, with their names.
  std::vector<schedule::TeamNode> Silent(absl::Time now, absl::Duration timeout) const;
  // How many neighbours in use were heard since `then`.
  uint32_t HeardSince(absl::Time then) const;
  bool InUse(Incarnation peer) const;
  // Lets go what has not been in use for a while.
  void DropUnused(absl::Time now);

  size_t size() const { return neighbours_.size(); }

 private:
  struct Neighbour {
    schedule::TeamNode node;
    uint32_t users = 0;
    uint32_t guests = 0;
    absl::Time heard;
    absl::Time sent;      // of the last heartbeat
    absl::Time released;  // when users, or guests, became 0
  };
  Connections* connections_;
  std::map<Incarnation, Neighbour> neighbours_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_NEIGHBOURS_H_
