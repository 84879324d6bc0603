// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota_settings.h"

#include <gtest/gtest.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::optional<QuotaAmount> At(const QuotaLimits& limits, Resource resource) {
  return limits[static_cast<size_t>(resource)];
}

TEST(ReadQuotasTest, WithoutAnyThereAreNoMaxima) {
  for (const char* text : {"", "{}", "{default: }", "{users: {}, groups: }"}) {
    const auto rules = ReadQuotas(text);
    ASSERT_TRUE(rules.ok()) << text << ": " << rules.status();
    EXPECT_EQ(*rules, QuotaRules()) << text;
  }
}

TEST(ReadQuotasTest, AmountsAreNumbersSizesPercentagesAndUnlimited) {
  const auto rules = ReadQuotas("{default: {clients: 50%, teams: 64, memory: 64MiB, posts: unlimited, regions: 0}}");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const QuotaLimits& limits = rules->everybody;
  EXPECT_EQ(At(limits, Resource::kClients), (QuotaAmount{50, true}));
  EXPECT_EQ(At(limits, Resource::kTeams), QuotaAmount{64});
  EXPECT_EQ(At(limits, Resource::kMemory), QuotaAmount{64 << 20});
  EXPECT_EQ(At(limits, Resource::kPosts), QuotaAmount{kUnlimited});
  EXPECT_EQ(At(limits, Resource::kRegions), QuotaAmount{0});
  EXPECT_EQ(At(limits, Resource::kClientMemory), std::nullopt);
}

TEST(ReadQuotasTest, UsersAndGroupsAreNamesOrIds) {
  const auto rules = ReadQuotas("users: {root: {teams: 1}, '4711': {teams: 2}}\ngroups: {root: {teams: 3}}");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(At(rules->users.at(0), Resource::kTeams), QuotaAmount{1});
  EXPECT_EQ(At(rules->users.at(4711), Resource::kTeams), QuotaAmount{2});
  EXPECT_EQ(At(rules->groups.at(0), Resource::kTeams), QuotaAmount{3});
}

TEST(ReadQuotasTest, ANodeMayBeOneUsers) {
  EXPECT_FALSE(ReadQuotas("{}")->exclusive);
  EXPECT_TRUE(ReadQuotas("{exclusive: true}")->exclusive);
  EXPECT_FALSE(ReadQuotas("{exclusive: false}")->exclusive);
  for (const char* value : {"2", "sometimes", "[true]", ""}) {
    EXPECT_THAT(ReadQuotas(absl::StrCat("{exclusive: ", value, "}")).status(),
                FailsWith(kInvalid, "quotas.exclusive", "true", "false"));
  }
}

TEST(ReadQuotasTest, WeightsAreNumbers) {
  const auto rules = ReadQuotas("{default: {weight: 2, teams: 1}, users: {root: {weight: 16}}}");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->everybody.weight, 2u);
  EXPECT_EQ(rules->users.at(0).weight, 16u);
  for (const char* value : {"0", "17", "-1", "many", ""}) {
    EXPECT_THAT(ReadQuotas(absl::StrCat("{default: {weight: '", value, "'}}")).status(),
                FailsWith(kInvalid, "quotas.default.weight", absl::StrCat("value=", value), "limits=1 to 16"));
  }
  EXPECT_THAT(ReadQuotas("{default: {weight: [1]}}").status(), FailsWith(kInvalid, "quotas.default.weight"));
  EXPECT_THAT(ReadQuotas("{default: {weight: 1, weight: 1}}").status(), FailsWith(kInvalid, "quotas.default.weight"));
}

TEST(ReadQuotasTest, ErrorsNameKeyValueAndLimit) {
  EXPECT_THAT(ReadQuotas("[1]").status(), FailsWith(kInvalid, "quotas"));
  EXPECT_THAT(ReadQuotas("{a: ").status(), FailsWith(kInvalid, "quotas"));
  EXPECT_THAT(ReadQuotas("{all: {}}").status(), FailsWith(kInvalid, "quotas", "key=all"));
  EXPECT_THAT(ReadQuotas("{[1]: {}}").status(), FailsWith(kInvalid, "quotas"));
  EXPECT_THAT(ReadQuotas("{default: 7}").status(), FailsWith(kInvalid, "quotas.default"));
  EXPECT_THAT(ReadQuotas("{default: {tems: 7}}").status(), FailsWith(kInvalid, "quotas.default", "key=tems"));
  EXPECT_THAT(ReadQuotas("{default: {teams: many}}").status(),
              FailsWith(kInvalid, "quotas.default.teams", "value=many"));
  EXPECT_THAT(ReadQuotas("{default: {teams: -1}}").status(), FailsWith(kInvalid, "quotas.default.teams", "value=-1"));
  EXPECT_THAT(ReadQuotas("{default: {teams: [1]}}").status(), FailsWith(kInvalid, "quotas.default.teams"));
  EXPECT_THAT(ReadQuotas("{default: {teams: 1, teams: 2}}").status(), FailsWith(kInvalid, "quotas.default.teams"));
  EXPECT_THAT(ReadQuotas("{users: {root: {memory: 120%}}}").status(),
              FailsWith(kInvalid, "quotas.users.root.memory", "value=120%", "limit=100%"));
  EXPECT_THAT(ReadQuotas("{default: {memory: 5x%}}").status(), FailsWith(kInvalid, "value=5x%"));
  EXPECT_THAT(ReadQuotas("{default: {memory: 5 furlongs}}").status(), FailsWith(kInvalid, "value=5 furlongs"));
  EXPECT_THAT(ReadQuotas("{default: {posts: 50%}}").status(), FailsWith(kInvalid, "quotas.default.posts", "value=50%"));
  EXPECT_THAT(ReadQuotas("{users: {root: {}, '0': {}}}").status(), FailsWith(kInvalid, "quotas.users.0", "id=0"));
  EXPECT_THAT(ReadQuotas("{users: {no-such-user: {teams: 1}}}").status(),
              FailsWith(absl::StatusCode::kNotFound, "quotas.users", "user=no-such-user"));
  EXPECT_THAT(ReadQuotas("{groups: {no-such-group: {teams: 1}}}").status(),
              FailsWith(absl::StatusCode::kNotFound, "quotas.groups", "group=no-such-group"));
}

}  // namespace
}  // namespace copse::daemon
