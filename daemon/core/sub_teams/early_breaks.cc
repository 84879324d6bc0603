// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/early_breaks.h"

#include <algorithm>
#include <utility>

namespace copse::daemon {

void EarlyBreaks::Add(TeamId team, Incarnation from, const schedule::FailureReport& why) {
  if (breaks_.size() >= kMax) breaks_.pop_front();
  breaks_.push_back({team, from, why});
}

std::optional<schedule::FailureReport> EarlyBreaks::Take(const IndexedLayout& layout) {
  const auto it = std::find_if(breaks_.begin(), breaks_.end(), [&](const Break& early) {
    return early.team == layout.layout().id && layout.NodeOf(early.from).has_value();
  });
  if (it == breaks_.end()) return std::nullopt;
  std::optional<schedule::FailureReport> why = std::move(it->why);
  breaks_.erase(it);
  return why;
}

}  // namespace copse::daemon
