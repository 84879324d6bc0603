// SPDX-License-Identifier: Apache-2.0
#include "base/log_budget.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace copse {

std::optional<std::string> LogBudget::Take(const std::string& party, absl::Time now) {
  if (parties_.size() >= kPartiesMax && parties_.count(party) == 0) {
    std::erase_if(parties_, [now](const auto& entry) { return entry.second.LeftAt(now) >= kBurst; });
    if (parties_.size() >= kPartiesMax) parties_.clear();
  }
  Party& known = parties_.try_emplace(party, Party{.at = now}).first->second;
  known.left = known.LeftAt(now);
  known.at = now;
  if (known.left < 1) {
    ++known.left_out;
    return std::nullopt;
  }
  known.left -= 1;
  const uint64_t left_out = std::exchange(known.left_out, 0);
  return left_out == 0 ? "" : absl::StrCat(" (lines left out before: ", left_out, ")");
}

}  // namespace copse
