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

// Returns what the rules say of a user: `said` returns what limits say, if anything.
template <typename Said>
auto FindSaid(const QuotaRules& rules, uint32_t uid, const std::set<uint32_t>& gids, Said said) {
  const auto own = rules.users.find(uid);
  decltype(said(rules.everybody)) found;
  if (own != rules.users.end()) found = said(own->second);
  if (found) return found;
  for (const auto& [gid, limits] : rules.groups) {
    if (gids.contains(gid)) found = std::max(found, said(limits));  // nothing is less than anything
  }
  return found ? found : said(rules.everybody);
}

}  // namespace

Amounts QuotaRules::MaximaOf(uint32_t uid, const std::set<uint32_t>& gids, const Amounts& totals) const {
  Amounts maxima;
  for (size_t i = 0; i < kResourceCount; ++i) {
    const auto said = [&](const QuotaLimits& limits) -> std::optional<uint64_t> {
      if (!limits[i]) return std::nullopt;
      return Resolve(*limits[i], totals[i]);
    };
    maxima[i] = FindSaid(*this, uid, gids, said).value_or(kUnlimited);
  }
  return maxima;
}

uint32_t QuotaRules::WeightOf(uint32_t uid, const std::set<uint32_t>& gids) const {
  return FindSaid(*this, uid, gids, [](const QuotaLimits& limits) { return limits.weight; }).value_or(1);
}

}  // namespace copse::daemon
