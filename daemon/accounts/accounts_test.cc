// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/accounts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using testing::FailsWith;

constexpr uint32_t kGreedy = 1000, kModest = 2000;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

QuotaLimits LimitOf(Resource resource, QuotaAmount amount) {
  QuotaLimits limits;
  limits[static_cast<size_t>(resource)] = amount;
  return limits;
}

TEST(AccountsTest, AGreedyUserLeavesTheKeptPartForOthers) {
  Accounts accounts;
  accounts.SetShare(Resource::kRegionBytes, {.limit = 800, .floor = 100, .least = 20});
  const auto greedy = accounts.Open(kGreedy, "a"), modest = accounts.Open(kModest, "b");
  const auto most = greedy->Take(Resource::kRegionBytes, 700);
  ASSERT_TRUE(most.ok());
  EXPECT_THAT(greedy->Take(Resource::kRegionBytes, 1).status(),
              FailsWith(kExhausted, "uid=1000", "used=700", "used by all=700", "limit=800", "wanted=1"));
  EXPECT_THAT(modest->Take(Resource::kRegionBytes, 51).status(), FailsWith(kExhausted, "used=0"));
  std::vector<Account::Holding> little;
  little.push_back(*modest->Take(Resource::kRegionBytes, 50));
  little.push_back(*accounts.Open(3000, "")->Take(Resource::kRegionBytes, 25));
  little.push_back(*accounts.Open(4000, "")->Take(Resource::kRegionBytes, 20));
  EXPECT_EQ(accounts.used(Resource::kRegionBytes), 795u);
  EXPECT_THAT(accounts.Open(5000, "")->Take(Resource::kRegionBytes, 6).status(),
              FailsWith(kExhausted, "used by all=795"));
  EXPECT_EQ(accounts.refused(Resource::kRegionBytes), 3u);
  EXPECT_EQ(accounts.refused(Resource::kTeams), 0u);
  accounts.CheckInvariants();
}

TEST(AccountsTest, OnANodeOfOneUserNothingIsKeptForOthers) {
  Accounts accounts;
  accounts.SetRules({.exclusive = true});
  accounts.SetShare(Resource::kRegionBytes, {.limit = 800, .floor = 100});
  const auto account = accounts.Open(kGreedy, "a");
  {
    const auto all = account->Take(Resource::kRegionBytes, 800);
    EXPECT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(accounts.LimitsOf(*account)[static_cast<size_t>(Resource::kRegionBytes)], 800u);
  }
  accounts.SetRules({});
  EXPECT_THAT(account->Take(Resource::kRegionBytes, 701).status(), FailsWith(kExhausted, "limit=800", "wanted=701"));
}

TEST(AccountsTest, AnExclusiveJobGetsAllUntilItEnds) {
  Accounts accounts;
  accounts.SetShare(Resource::kRegionBytes, {.limit = 800, .floor = 100});
  const auto account = accounts.Open(kGreedy, "slurm-1"), other = accounts.Open(kModest, "slurm-2");
  const auto may_have_all = [](const std::shared_ptr<Account>& any) {
    return any->Take(Resource::kRegionBytes, 800).ok();
  };
  EXPECT_FALSE(may_have_all(account));
  ASSERT_TRUE(accounts.BeginJob(kGreedy, "slurm-1", true).ok());
  ASSERT_TRUE(accounts.BeginJob(kModest, "slurm-2", false).ok());
  EXPECT_TRUE(may_have_all(account));
  EXPECT_EQ(accounts.LimitsOf(*account)[static_cast<size_t>(Resource::kRegionBytes)], 800u);
  EXPECT_FALSE(may_have_all(other));
  accounts.EndJob(kGreedy, "slurm-1");
  EXPECT_FALSE(may_have_all(account));
  EXPECT_EQ(accounts.jobs(), 1u);
}

TEST(AccountsTest, JobsThatHaveBegunAreBounded) {
  Accounts accounts;
  for (uint32_t uid = 0; uid < Accounts::kJobsMax; ++uid) ASSERT_TRUE(accounts.BeginJob(uid, "job", false).ok());
  EXPECT_THAT(accounts.BeginJob(kGreedy, "another", false), FailsWith(kExhausted, "jobs=4096", "limit=4096"));
  EXPECT_TRUE(accounts.BeginJob(kGreedy, "job", true).ok()) << "it has begun already";
}

TEST(AccountsTest, WhatIsDestroyedIsReturned) {
  Accounts accounts;
  accounts.SetShare(Resource::kRegions, {.limit = 8, .floor = 1});
  {
    auto first = accounts.Open(kGreedy, "a")->Take(Resource::kRegions, 3);
    ASSERT_TRUE(first.ok());
    const Account::Holding moved = *std::move(first);
    EXPECT_EQ(accounts.used_by(kGreedy, Resource::kRegions), 3u);
    EXPECT_FALSE(moved.account()->Take(Resource::kRegions, 5).ok());
    EXPECT_EQ(accounts.used(Resource::kRegions), 3u) << "a refusal takes nothing";
  }
  EXPECT_EQ(accounts.used(Resource::kRegions), 0u);
  EXPECT_TRUE(accounts.All().empty()) << "an account ends with what it holds";
}

TEST(AccountsTest, AnAmountNearTheEndOfNumbersIsRefused) {
  Accounts accounts;
  accounts.SetShare(Resource::kRegionBytes, {.limit = 800, .floor = 100});
  const auto account = accounts.Open(kGreedy, "a");
  const auto some = account->Take(Resource::kRegionBytes, 50);
  EXPECT_FALSE(account->Take(Resource::kRegionBytes, UINT64_MAX - 10).ok());
  EXPECT_EQ(accounts.used(Resource::kRegionBytes), 50u);
}

TEST(AccountsTest, TheJobsOfAUserShareItsLimit) {
  Accounts accounts;
  accounts.SetRules({.everybody = LimitOf(Resource::kTeams, {.value = 3})});
  const auto first = accounts.Open(kGreedy, "slurm-1"), second = accounts.Open(kGreedy, "slurm-2");
  EXPECT_EQ(accounts.Open(kGreedy, "slurm-1"), first);
  std::vector<Account::Holding> held;
  held.push_back(*first->Take(Resource::kTeams, 2));
  held.push_back(*second->Take(Resource::kTeams));
  EXPECT_THAT(second->Take(Resource::kTeams).status(),
              FailsWith(kExhausted, "uid=1000", "used=3", "limit=3", "wanted=1"));
  EXPECT_EQ(first->used(Resource::kTeams), 2u);
  EXPECT_EQ(second->used(Resource::kTeams), 1u);
  EXPECT_TRUE(accounts.Open(kModest, "slurm-3")->Take(Resource::kTeams, 3).ok()) << "it is each user's";
}

TEST(AccountsTest, NewRulesJudgeNewRequests) {
  Accounts accounts;
  const auto account = accounts.Open(kGreedy, "a");
  std::optional<Account::Holding> held = *account->Take(Resource::kClients, 5);
  accounts.SetRules({.everybody = LimitOf(Resource::kClients, {.value = 2})});
  EXPECT_EQ(account->used(Resource::kClients), 5u) << "what is held stays";
  EXPECT_THAT(account->Take(Resource::kClients).status(), FailsWith(kExhausted, "used=5", "limit=2"));
  held.reset();
  EXPECT_TRUE(account->Take(Resource::kClients, 2).ok());
  accounts.SetRules({});
  EXPECT_TRUE(account->Take(Resource::kClients, 100).ok());
}

TEST(AccountsTest, AGroupIsSeenByAnyProcessOfTheUser) {
  Accounts accounts;
  accounts.SetRules({.everybody = LimitOf(Resource::kClients, {.value = 1}),
                     .groups = {{77, LimitOf(Resource::kClients, {.value = 4})}}});
  const auto account = accounts.Open(kGreedy, "a", {5});
  EXPECT_EQ(accounts.LimitsOf(*account)[static_cast<size_t>(Resource::kClients)], 1u);
  accounts.Open(kGreedy, "b", {5, 77});
  EXPECT_EQ(accounts.LimitsOf(*account)[static_cast<size_t>(Resource::kClients)], 4u);
}

TEST(AccountsTest, LimitsAreWhatAUserCanHaveAlone) {
  Accounts accounts;
  accounts.SetShare(Resource::kMemory, {.limit = 800, .floor = 100});
  const auto account = accounts.Open(kGreedy, "a");
  const auto limit = [&] { return accounts.LimitsOf(*account)[static_cast<size_t>(Resource::kMemory)]; };
  EXPECT_EQ(limit(), 700u);
  EXPECT_EQ(accounts.LimitsOf(*account)[static_cast<size_t>(Resource::kPosts)], kUnlimited);
  accounts.SetRules({.everybody = LimitOf(Resource::kMemory, {.value = 25, .is_percent = true})});
  EXPECT_EQ(limit(), 200u);
  accounts.SetShare(Resource::kMemory, {.limit = 1600, .floor = 200});
  EXPECT_EQ(limit(), 400u) << "a part of what there is now";
}

TEST(AccountsTest, MemoryIsChargedForItsOwner) {
  Accounts accounts;
  accounts.SetShare(Resource::kMemory, {.limit = 800, .floor = 100});
  const auto account = accounts.Open(kGreedy, "a");
  EXPECT_TRUE(account->Charge(700).ok());
  EXPECT_THAT(account->Charge(1), FailsWith(kExhausted, "uid=1000", "used=700", "limit=800"));
  account->Discharge(700);
  EXPECT_EQ(accounts.used(Resource::kMemory), 0u);
}

TEST(AccountsTest, APostTooManyIsCountedUntilItIsOver) {
  Accounts accounts;
  accounts.SetRules({.everybody = LimitOf(Resource::kPosts, {.value = 1})});
  const auto account = accounts.Open(kGreedy, "a");
  EXPECT_TRUE(account->PostBegins().ok());
  EXPECT_THAT(account->PostBegins(), FailsWith(kExhausted, "uid=1000", "used=1", "limit=1"));
  EXPECT_EQ(account->used(Resource::kPosts), 2u);
  account->PostsOver(2);
  EXPECT_TRUE(account->PostBegins().ok());
  account->PostsOver(1);
}

}  // namespace
}  // namespace copse::daemon
