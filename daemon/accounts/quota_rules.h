// SPDX-License-Identifier: Apache-2.0
//
// Says how much of each resource a user may have at most, and what part of the daemon's time.
#ifndef COPSE_DAEMON_ACCOUNTS_QUOTA_RULES_H_
#define COPSE_DAEMON_ACCOUNTS_QUOTA_RULES_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "daemon/accounts/resource.h"

namespace copse::daemon {

// A QuotaAmount is a number, or a part of what all users share.
struct QuotaAmount {
  uint64_t value = kUnlimited;
  bool is_percent = false;
  friend bool operator==(const QuotaAmount&, const QuotaAmount&) = default;
};

// Others may have to wait for a turn of the engine of this weight.
inline constexpr uint32_t kWeightMax = 16;

// QuotaLimits is what is said of some users.
struct QuotaLimits {
  std::array<std::optional<QuotaAmount>, kResourceCount> amounts;  // by Resource
  std::optional<uint32_t> weight;                                  // emu::Engine::SetWeight's

  std::optional<QuotaAmount>& operator[](size_t resource) { return amounts[resource]; }
  const std::optional<QuotaAmount>& operator[](size_t resource) const { return amounts[resource]; }
  friend bool operator==(const QuotaLimits&, const QuotaLimits&) = default;
};

// QuotaRules has the maxima and weights of users. Of each the user's own counts, else the largest of the user's groups,
// else that of everybody; where none is said there is no maximum, and the weight is 1.
struct QuotaRules {
  bool exclusive = false;  // one user at a time has the node: nothing is kept for others
  QuotaLimits everybody;
  std::map<uint32_t, QuotaLimits> groups;  // by gid
  std::map<uint32_t, QuotaLimits> users;   // by uid

  // Returns the maxima of a user of these groups. `totals`: what all users share.
  Amounts MaximaOf(uint32_t uid, const std::set<uint32_t>& gids, const Amounts& totals) const;
  uint32_t WeightOf(uint32_t uid, const std::set<uint32_t>& gids) const;
  friend bool operator==(const QuotaRules&, const QuotaRules&) = default;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_ACCOUNTS_QUOTA_RULES_H_
