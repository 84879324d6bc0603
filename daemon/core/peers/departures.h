// SPDX-License-Identifier: Apache-2.0
//
// Delays the messages about ranks that have left their teams.
#ifndef COPSE_DAEMON_CORE_PEERS_DEPARTURES_H_
#define COPSE_DAEMON_CORE_PEERS_DEPARTURES_H_

#include <map>
#include <utility>

#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"

namespace copse::daemon {

// Departures hold LeftMessages for kDelay. Ranks mostly leave a team at the same time, on all nodes: of a node's
// messages about a team only the last one is sent then, and none to a peer that has left the team itself.
// Thread-compatible.
class Departures {
 public:
  static constexpr absl::Duration kDelay = absl::Milliseconds(5);
  using ByPeerAndTeam = std::map<std::pair<Incarnation, TeamId>, LeftMessage>;

  // Replaces an earlier message to the peer about the team.
  void Add(Incarnation peer, const LeftMessage& message, absl::Time now) {
    if (held_.empty()) due_ = now + kDelay;
    held_.insert_or_assign({peer, message.team}, message);
  }
  // The peer has sent this message.
  void OnLeft(Incarnation peer, const LeftMessage& message) {
    if (!message.all || held_.empty()) return;
    held_.erase({peer, message.team});
    if (held_.empty()) due_ = absl::InfiniteFuture();
  }
  // Returns the time when Take is due; infinite: no message is held.
  absl::Time due() const { return due_; }
  // Returns all messages, which are not held any more.
  ByPeerAndTeam Take() {
    due_ = absl::InfiniteFuture();
    return std::exchange(held_, {});
  }

 private:
  ByPeerAndTeam held_;
  absl::Time due_ = absl::InfiniteFuture();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_PEERS_DEPARTURES_H_
