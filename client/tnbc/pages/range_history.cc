// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/range_history.h"

namespace copse::tnbc {
namespace {

constexpr uint32_t kCallsMax = 1024;  // that pass before a range is remapped or sent from again

}  // namespace

std::optional<Range> UseCounts::Count(const Range& used) {
  Uses& uses = recent_.At(used);
  uses.range.end = std::max(uses.range.end, used.end);
  return ++uses.count >= uses.wanted ? std::optional(uses.range) : std::nullopt;
}

void UseCounts::Restart(uintptr_t begin, MemoryEnd end) {
  Uses* const uses = recent_.Find(begin);
  if (uses == nullptr) return;
  uses->count = 0;
  uses->wanted = end != MemoryEnd::kStays ? Uses().wanted : std::min(2 * uses->wanted, kCallsMax);
}

bool SendRegrets::MaySendFrom(uintptr_t begin) {
  Regretted* const regretted = recent_.Find(begin);
  if (regretted == nullptr || regretted->left == 0) return true;
  --regretted->left;
  return false;
}

void SendRegrets::Regret(const Range& sent) {
  Regretted& regretted = recent_.At(sent);
  regretted.left = regretted.next;
  regretted.next = std::min(2 * regretted.next, kCallsMax);
}

}  // namespace copse::tnbc
