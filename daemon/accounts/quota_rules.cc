// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_rules.h"

#include <algorithm>

namespace copse::daemon {
namespace {

// Returns the amount, rounded down, at least 1: a part of something is not nothing.
uint64_t Resolve(const QuotaAmount& amount, uint64_t total) {
  if (!amount.is_percent) return amount.value;
  if (amount.value == 0) return 0;
  return std::max<uint64_t>(1, total / 100 * amount.value + total % 100 * amount.value / 100);
}

}  // namespace

Amounts QuotaRules::MaximaOf(uint32_t uid, const std::set<uint32_t>& gids, const Amounts& totals) const {
  Amounts maxima;
  const auto own = users.find(uid);
  for (size_t i = 0; i < kResourceCount; ++i) {
    std::optional<uint64_t> maximum;
    if (own != users.end() && own->second[i]) maximum = Resolve(*own->second[i], totals[i]);
    if (!maximum) {
      for (const auto& [gid, limits] : groups) {
        if (limits[i] && gids.contains(gid)) maximum = std::max(maximum.value_or(0), Resolve(*limits[i], totals[i]));
      }
    }
    if (!maximum && everybody[i]) maximum = Resolve(*everybody[i], totals[i]);
    maxima[i] = maximum.value_or(kUnlimited);
  }
  return maxima;
}

}  // namespace copse::daemon
