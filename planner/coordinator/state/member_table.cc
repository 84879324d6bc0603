// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/member_table.h"

#include <algorithm>
#include <numeric>

namespace copse::coordinator {

void MemberTable::Assign(const schedule::TeamLayout& layout) {
  const std::vector<schedule::TeamNode>& nodes = layout.nodes;
  *this = MemberTable();
  members_.resize(nodes.size());
  by_name_.resize(nodes.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::stable_sort(by_name_.begin(), by_name_.end(),
                   [&](uint32_t a, uint32_t b) { return nodes[a].name < nodes[b].name; });
  for (const NodeIndex node : layout.shape.node_of_rank) ++members_[node.value()].ranks;
  for (const Member& member : members_) Count(member, 1);
}

std::optional<uint32_t> MemberTable::Find(absl::Span<const schedule::TeamNode> nodes, absl::string_view name,
                                          Incarnation incarnation) const {
  const auto it =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](uint32_t index, absl::string_view wanted) { return nodes[index].name < wanted; });
  if (it == by_name_.end() || nodes[*it].name != name || nodes[*it].incarnation != incarnation) return std::nullopt;
  return *it;
}

std::vector<std::pair<uint32_t, EpochId>> MemberTable::TakePrepared() {
  std::vector<std::pair<uint32_t, EpochId>> taken;
  for (uint32_t i = 0; prepared_ > 0 && i < size(); ++i) {
    if (members_[i].prepared == EpochId{0}) continue;
    taken.emplace_back(i, members_[i].prepared);
    SetPrepared(i, EpochId{0});
  }
  return taken;
}

void MemberTable::Count(const Member& member, int by) {
  if (member.prepared != EpochId{0}) prepared_ += by;
  if (!member.remains()) return;
  remaining_ += by;
  if (!member.known) unknown_ += by;
  auto it = std::find_if(committed_.begin(), committed_.end(),
                         [&](const auto& entry) { return entry.first == member.committed; });
  if (it == committed_.end()) it = committed_.insert(it, {member.committed, 0});
  it->second += by;
  if (it->second == 0) committed_.erase(it);
}

}  // namespace copse::coordinator
