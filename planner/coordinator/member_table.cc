// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/member_table.h"

namespace copse::coordinator {

void MemberTable::Assign(absl::Span<const schedule::TeamNode> nodes) {
  *this = MemberTable();
  members_.resize(nodes.size());
  index_of_.reserve(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    index_of_.emplace(nodes[i].name, std::make_pair(nodes[i].incarnation, i));
    Count(members_[i], 1);
  }
}

std::optional<uint32_t> MemberTable::Find(const std::string& name, Incarnation incarnation) const {
  const auto it = index_of_.find(name);
  if (it == index_of_.end() || it->second.first != incarnation) return std::nullopt;
  return it->second.second;
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
  const auto it = committed_.emplace(member.committed, 0).first;
  it->second += by;
  if (it->second == 0) committed_.erase(it);
}

}  // namespace copse::coordinator
