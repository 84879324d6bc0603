// SPDX-License-Identifier: Apache-2.0
//
// Keeps the neighbors of a team at this node, which are the nodes to which its committed epochs have edges.
#ifndef COPSE_DAEMON_CORE_TEAM_TEAM_EDGES_H_
#define COPSE_DAEMON_CORE_TEAM_TEAM_EDGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "base/ids.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team/team_members.h"

namespace copse::daemon {

// TeamEdges keeps the connections that the team's epochs use, and sends messages on them. Thread-compatible; `*link`
// and `*members` must outlive it.
class TeamEdges {
 public:
  TeamEdges(PeerLink* link, const TeamMembers* members) : link_(link), members_(members) {}
  TeamEdges(const TeamEdges&) = delete;
  TeamEdges& operator=(const TeamEdges&) = delete;
  ~TeamEdges();

  // Connects to `nodes`, which an epoch uses until Release. Leaves out nodes that have left, and those without a
  // connection, whose silence other nodes detect. Sends a LeftMessage to new neighbors if ranks here have left.
  void Acquire(absl::Span<const uint32_t> nodes);
  // Ends an epoch's use of `nodes`; those without a connection are ignored.
  void Release(absl::Span<const uint32_t> nodes);
  // Releases the node for all epochs: it has left and sends no heartbeats any more, so its silence means no loss.
  void Drop(NodeIndex node);

  bool Has(NodeIndex node) const { return users_.contains(node.value()); }
  std::vector<Incarnation> Neighbors() const;
  void SendToAll(const PeerMessage& message, std::optional<Incarnation> except = std::nullopt) const;

 private:
  PeerLink* const link_;
  const TeamMembers* const members_;
  std::map<uint32_t, uint32_t> users_;  // number of epochs that use the edge, by node
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_EDGES_H_
