// SPDX-License-Identifier: Apache-2.0

#include "client/port/user_memory.h"

#include <iterator>
#include <utility>

namespace copse::client {

bool UserMemory::Add(UserRange&& range) {
  const auto start = reinterpret_cast<uintptr_t>(range.address);
  const auto next = ranges_.lower_bound(start);
  if (next != ranges_.end() && next->first - start < range.bytes) return false;
  if (next != ranges_.begin()) {
    const auto previous = std::prev(next);
    if (start - previous->first < previous->second.bytes) return false;
  }
  ranges_.emplace(start, std::move(range));
  return true;
}

void UserMemory::AddMapped(UserRange&& range) {
  const auto start = reinterpret_cast<uintptr_t>(range.address);
  const uintptr_t end = start + range.bytes;
  std::erase_if(ranges_, [start, end](const auto& entry) {
    const auto& [from, other] = entry;
    return other.kind == Kind::kRegistered && from < end && start < from + other.bytes;
  });
  ranges_.emplace(start, std::move(range));
}

UserMemory::UserRange* UserMemory::At(const void* address) {
  const auto found = ranges_.find(reinterpret_cast<uintptr_t>(address));
  return found == ranges_.end() || found->second.freed ? nullptr : &found->second;
}

UserMemory::UserRange* UserMemory::Reachable(const void* address, uint64_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  auto found = ranges_.upper_bound(start);
  if (found == ranges_.begin()) return nullptr;
  UserRange& range = (--found)->second;
  if (range.kind != Kind::kDataArea && range.kind != Kind::kRegion) return nullptr;
  const uint64_t offset = start - found->first;
  return offset <= range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

void UserMemory::Drop(UserRange* range) { ranges_.erase(reinterpret_cast<uintptr_t>(range->address)); }

}  // namespace copse::client
