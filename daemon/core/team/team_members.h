// SPDX-License-Identifier: Apache-2.0
//
// Keeps the members of a team: its nodes and ranks, the clients of its ranks here, and the ranks that have left it.
#ifndef COPSE_DAEMON_CORE_TEAM_TEAM_MEMBERS_H_
#define COPSE_DAEMON_CORE_TEAM_TEAM_MEMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/indexed_layout.h"
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::daemon {

// TeamMembers holds a team's layout, and the ranks that have left since. Ranks of this node have local indices, which
// ascend with the rank. Thread-compatible.
class TeamMembers {
 public:
  TeamMembers(SharedLayout layout, NodeIndex self);

  const schedule::TeamLayout& layout() const { return layout_->layout(); }
  const SharedLayout& shared_layout() const { return layout_; }
  TeamId id() const { return layout().id; }
  NodeIndex self() const { return self_; }
  const schedule::ShapeIndex& shape() const { return layout_->shape(); }
  const schedule::TeamNode& node(uint32_t index) const { return layout().nodes[index]; }
  // Takes the addresses of `layout`, the same team's, which may have those of other nodes.
  void LearnAddresses(const SharedLayout& layout);
  // Returns this node's name.
  const std::string& node_name() const { return layout().nodes[self_.value()].name; }

  // --- Ranks of this node ---
  absl::Span<const Rank> ranks() const { return shape().RanksOf(self_); }  // by local index
  uint32_t LocalIndex(Rank rank) const { return shape().LocalIndexOf(rank); }
  void Join(Rank rank, ClientId client) { clients_[LocalIndex(rank)] = client; }
  // Returns nothing if the rank has not joined, has left, or is not on this node.
  std::optional<ClientId> ClientOf(Rank rank) const;
  std::optional<ClientId> ClientAt(uint32_t local) const { return clients_[local]; }
  bool HasClients() const;
  void RemoveClient(Rank rank) { clients_[LocalIndex(rank)].reset(); }
  // Records that a rank here, whose client was removed, leaves after `calls` calls. Returns the message for the
  // neighbors, unless an earlier one is enough: it is not if the rank has fewer calls, or is the last one to leave.
  std::optional<LeftMessage> Leave(Rank rank, CallSeq calls);
  // Returns the last such message, which a new neighbor needs; null: none.
  const LeftMessage* OwnDeparture() const;

  // --- Nodes ---
  // Returns nothing if the daemon is not in the team.
  std::optional<NodeIndex> NodeOf(Incarnation incarnation) const { return layout_->NodeOf(incarnation); }
  // Returns the daemon's node if it is in the team, is not this one, and still has members.
  std::optional<NodeIndex> OtherMember(Incarnation incarnation) const;
  // Returns a text such as "rank 3 on node n2" or "ranks 2-3 on node n2".
  std::string DescribeNode(NodeIndex node) const;
  void OnLeft(NodeIndex node, const LeftMessage& message) { left_[node.value()] = message; }
  // Returns whether all ranks of the node have left.
  bool HasLeft(uint32_t node) const;

  // Returns the last LeftMessage of each node with ranks that have left, including this one, by node.
  const std::map<uint32_t, LeftMessage>& departures() const { return left_; }

 private:
  SharedLayout layout_;  // its index is always the same one
  const NodeIndex self_;
  absl::InlinedVector<std::optional<ClientId>, 1> clients_;  // by local index; mostly there is one
  std::map<uint32_t, LeftMessage> left_;                     // by node
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_MEMBERS_H_
