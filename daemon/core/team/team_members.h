// SPDX-License-Identifier: Apache-2.0
//
// The members of a team: its nodes and ranks, the clients of its ranks here, and the ranks that have left it.
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
#include "protocol/control.h"
#include "schedule/plan.h"

namespace copse::daemon {

// TeamMembers has a team's layout, and the ranks that have left since. Ranks of this node have local indices, in the
// layout's order. Thread-compatible.
class TeamMembers {
 public:
  TeamMembers(schedule::TeamLayout layout, NodeIndex self);

  const schedule::TeamLayout& layout() const { return layout_; }
  TeamId id() const { return layout_.id; }
  NodeIndex self() const { return self_; }
  const schedule::ShapeIndex& shape() const { return shape_; }
  const schedule::TeamNode& node(uint32_t index) const { return layout_.nodes[index]; }
  const std::string& node_name() const { return layout_.nodes[self_.value()].name; }  // of this node

  // --- Ranks of this node ---
  absl::Span<const Rank> ranks() const { return shape_.RanksOf(self_); }  // by local index
  uint32_t LocalIndex(Rank rank) const { return shape_.LocalIndexOf(rank); }
  void Join(Rank rank, ClientId client) { clients_[LocalIndex(rank)] = client; }
  // Nothing: the rank has not joined, has left, or is on another node.
  std::optional<ClientId> ClientOf(Rank rank) const;
  std::optional<ClientId> ClientAt(uint32_t local) const { return clients_[local]; }
  bool HasClients() const;
  // The rank's client is gone.
  void RemoveClient(Rank rank) { clients_[LocalIndex(rank)].reset(); }
  // A rank here leaves after `calls` calls. Returns the message for the neighbors, unless an earlier one says as much.
  std::optional<LeftMessage> Leave(Rank rank, CallSeq calls);
  // The message that a new neighbor has missed; null: none.
  const LeftMessage* OwnDeparture() const;

  // --- Nodes ---
  std::optional<NodeIndex> NodeOf(Incarnation incarnation) const;
  // Returns the node if it is not this one and has not left.
  std::optional<NodeIndex> OtherMember(Incarnation incarnation) const;
  // Returns "rank 3 on node n2" or "ranks 2-3 on node n2".
  std::string DescribeNode(NodeIndex node) const;
  void OnLeft(NodeIndex node, const LeftMessage& message) { left_[node.value()] = message; }
  bool HasLeft(uint32_t node) const;  // all its ranks have left

  // The nodes, also this one, with ranks that have left, and the last message about them.
  const std::map<uint32_t, LeftMessage>& departures() const { return left_; }

 private:
  const schedule::TeamLayout layout_;
  const NodeIndex self_;
  const schedule::ShapeIndex shape_;
  absl::InlinedVector<std::optional<ClientId>, 1> clients_;  // by local index; mostly there is one
  std::map<uint32_t, LeftMessage> left_;                     // by node
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_MEMBERS_H_
