// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_rules.h"

#include <gtest/gtest.h>

namespace copse::daemon {
namespace {

constexpr auto kTeams = static_cast<size_t>(Resource::kTeams);
constexpr auto kClients = static_cast<size_t>(Resource::kClients);

QuotaLimits Teams(uint64_t value, bool is_percent = false) {
  QuotaLimits limits;
  limits[kTeams] = {value, is_percent};
  return limits;
}

TEST(QuotaRulesTest, TheUserComesBeforeTheGroupAndTheGroupBeforeEverybody) {
  const QuotaRules rules{.everybody = Teams(1), .groups = {{7, Teams(2)}, {8, Teams(3)}}, .users = {{1000, Teams(4)}}};
  EXPECT_EQ(rules.MaximaOf(2000, {}, {})[kTeams], 1u);
  EXPECT_EQ(rules.MaximaOf(2000, {7, 9}, {})[kTeams], 2u);
  EXPECT_EQ(rules.MaximaOf(2000, {7, 8}, {})[kTeams], 3u) << "the largest of the groups";
  EXPECT_EQ(rules.MaximaOf(1000, {7, 8}, {})[kTeams], 4u);
  EXPECT_EQ(rules.MaximaOf(1000, {7, 8}, {})[kClients], kUnlimited);
}

TEST(QuotaRulesTest, WeightsAreSaidLikeMaxima) {
  QuotaRules rules;
  EXPECT_EQ(rules.WeightOf(1000, {7}), 1u);
  rules = {.everybody = {.weight = 2}, .groups = {{7, {.weight = 4}}, {8, {.weight = 3}}}, .users = {{1000, Teams(4)}}};
  EXPECT_EQ(rules.WeightOf(1000, {}), 2u) << "what is said of the user has no weight";
  EXPECT_EQ(rules.WeightOf(1000, {7, 8}), 4u);
  rules.users[1000].weight = 1;
  EXPECT_EQ(rules.WeightOf(1000, {7, 8}), 1u);
}

TEST(QuotaRulesTest, PartsAreOfWhatAllShare) {
  Amounts totals{};
  totals[kTeams] = 1024;
  EXPECT_EQ((QuotaRules{.everybody = Teams(25, true)}.MaximaOf(1, {}, totals)[kTeams]), 256u);
  EXPECT_EQ((QuotaRules{.everybody = Teams(100, true)}.MaximaOf(1, {}, totals)[kTeams]), 1024u);
  totals[kTeams] = 8;
  EXPECT_EQ((QuotaRules{.everybody = Teams(1, true)}.MaximaOf(1, {}, totals)[kTeams]), 1u) << "not nothing";
  EXPECT_EQ((QuotaRules{.everybody = Teams(0, true)}.MaximaOf(1, {}, totals)[kTeams]), 0u);
}

}  // namespace
}  // namespace copse::daemon
