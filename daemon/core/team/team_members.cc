// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/team_members.h"

#include <algorithm>
#include <utility>

namespace copse::daemon {

TeamMembers::TeamMembers(SharedLayout layout, NodeIndex self)
    : layout_(std::move(layout)), self_(self), clients_(ranks().size()) {}

void TeamMembers::LearnAddresses(const SharedLayout& layout) {
  // A layout with our index was made from an earlier layout of this team, and has its addresses.
  layout_ = layout->members() == layout_->members() ? layout : IndexLayout(layout->layout(), layout_);
}

std::optional<ClientId> TeamMembers::ClientOf(Rank rank) const {
  if (rank.value() >= shape().size() || shape().NodeOf(rank) != self_) return std::nullopt;
  return clients_[LocalIndex(rank)];
}

bool TeamMembers::HasClients() const {
  return std::any_of(clients_.begin(), clients_.end(), [](const auto& client) { return client.has_value(); });
}

std::optional<LeftMessage> TeamMembers::Leave(Rank rank, CallSeq calls) {
  const bool all = !HasClients();
  const auto [it, is_first] = left_.try_emplace(self_.value(), LeftMessage{id(), calls, rank});
  LeftMessage& left = it->second;
  const bool is_earlier = calls < left.calls;
  if (is_earlier) left = {id(), calls, rank};
  left.all = all;
  return is_first || is_earlier || all ? std::optional(left) : std::nullopt;
}

const LeftMessage* TeamMembers::OwnDeparture() const {
  const auto it = left_.find(self_.value());
  return it == left_.end() ? nullptr : &it->second;
}

std::optional<NodeIndex> TeamMembers::OtherMember(Incarnation incarnation) const {
  const std::optional<NodeIndex> node = NodeOf(incarnation);
  return node && *node != self_ && !HasLeft(node->value()) ? node : std::nullopt;
}

std::string TeamMembers::DescribeNode(NodeIndex node) const {
  const absl::Span<const Rank> ranks = shape().RanksOf(node);
  return schedule::DescribeMember({ranks.begin(), ranks.end()}, layout().nodes[node.value()].name);
}

bool TeamMembers::HasLeft(uint32_t node) const {
  const auto it = left_.find(node);
  return it != left_.end() && it->second.all;
}

}  // namespace copse::daemon
