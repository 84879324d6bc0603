// SPDX-License-Identifier: Apache-2.0
//
// Tracks the daemons that share an edge with this one: their connections, heartbeats and silence.
#ifndef COPSE_DAEMON_CORE_PEERS_NEIGHBORS_H_
#define COPSE_DAEMON_CORE_PEERS_NEIGHBORS_H_

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

// A NeighborTable connects to a neighbor on its first Acquire, and gives up the connection a while after the last
// Release, so that the last messages still leave. Thread-compatible; the core owns it. `*connections` must outlive it.
class NeighborTable {
 public:
  explicit NeighborTable(Connections* connections) : connections_(connections) {}

  // Each Acquire that succeeds must be matched by one Release. Errors are the transport's.
  absl::Status Acquire(const schedule::TeamNode& node, absl::Time now);
  void Release(Incarnation peer, absl::Time now);
  // Connects for a measurement: a guest gets no heartbeats, and its silence is not reported. Each AcquireGuest that
  // succeeds must be matched by one ReleaseGuest. Errors are the transport's.
  absl::Status AcquireGuest(const schedule::TeamNode& node, absl::Time now);
  void ReleaseGuest(Incarnation peer, absl::Time now);
  // Returns whether the connection serves measurements only. Then its end does not count as the loss of the node.
  bool OnlyGuest(Incarnation peer) const;
  // The neighbor is lost: disconnects at once, and forgets it. Later Releases of this neighbor are ignored.
  void Lost(Incarnation peer);

  // A frame from the peer has arrived.
  void OnReceived(Incarnation peer, absl::Time now);
  // The frame was a heartbeat.
  void CountHeartbeat() { ++heartbeats_received_; }
  // This daemon did not run for `gap`, until `now`, so that time does not count as silence of any neighbor.
  void AllowFor(absl::Duration gap, absl::Time now);
  // Returns the neighbors in use to which a heartbeat is due, and records it as sent.
  std::vector<Incarnation> DueHeartbeats(absl::Time now, absl::Duration interval);
  // Returns the neighbors in use that have been silent for at least `timeout`.
  std::vector<schedule::TeamNode> Silent(absl::Time now, absl::Duration timeout) const;
  // Returns the number of neighbors in use from which a frame was received at `then` or later.
  uint32_t ReceivedSince(absl::Time then) const;
  // Returns whether a team uses the connection.
  bool InUse(Incarnation peer) const;
  // Gives up connections that have been unused for a while.
  void DropUnused(absl::Time now);

  size_t size() const { return neighbors_.size(); }
  uint64_t heartbeats_sent() const { return heartbeats_sent_; }
  uint64_t heartbeats_received() const { return heartbeats_received_; }

 private:
  struct Neighbor {
    schedule::TeamNode node;
    uint32_t users = 0;
    uint32_t guests = 0;
    absl::Time last_received;
    absl::Time sent;      // time of the last heartbeat
    absl::Time released;  // time of the last Release or ReleaseGuest
  };
  Connections* connections_;
  std::map<Incarnation, Neighbor> neighbors_;
  uint64_t heartbeats_sent_ = 0, heartbeats_received_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_NEIGHBORS_H_
