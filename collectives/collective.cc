// SPDX-License-Identifier: Apache-2.0
#include "collectives/collective.h"

namespace copse {

std::optional<Collective> CollectiveFromName(std::string_view name) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    if (kCollectives[i].name == name) return static_cast<Collective>(i);
  }
  return std::nullopt;
}

std::vector<Collective> CollectivesOf(Family family) {
  std::vector<Collective> members;
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto c = static_cast<Collective>(i);
    if (PlanCollective(c) == c && FamilyOf(c) == family) members.push_back(c);
  }
  return members;
}

}  // namespace copse
