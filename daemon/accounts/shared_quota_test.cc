// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/shared_quota.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using testing::FailsWith;

constexpr uint32_t kGreedy = 1000, kModest = 2000;

TEST(SharedQuotaTest, AGreedyUserLeavesTheKeptPartForOthers) {
  SharedQuota quota("bytes", {.limit = 800, .floor = 100});
  const auto most = quota.Take(kGreedy, 700);
  ASSERT_TRUE(most.ok());
  EXPECT_THAT(quota.Take(kGreedy, 1).status(), FailsWith(absl::StatusCode::kResourceExhausted, "uid=1000", "used=700",
                                                         "used by all=700", "limit=800", "wanted=1"));
  EXPECT_THAT(quota.Take(kModest, 101).status(), FailsWith(absl::StatusCode::kResourceExhausted, "used=0"));
  const auto little = quota.Take(kModest, 100);
  EXPECT_TRUE(little.ok());
  EXPECT_EQ(quota.used(), 800u);
  EXPECT_THAT(quota.Take(3000, 1).status(), FailsWith(absl::StatusCode::kResourceExhausted, "used by all=800"));
}

TEST(SharedQuotaTest, WhatIsDestroyedIsReturned) {
  SharedQuota quota("regions", {.limit = 8, .floor = 1});
  {
    auto first = quota.Take(kGreedy, 3);
    ASSERT_TRUE(first.ok());
    SharedQuota::Holding moved = *std::move(first);
    EXPECT_EQ(quota.used_by(kGreedy), 3u);
    EXPECT_FALSE(quota.Take(kGreedy, 5).ok());
    EXPECT_EQ(quota.used(), 3u) << "a refusal takes nothing";
  }
  EXPECT_EQ(quota.used(), 0u);
  EXPECT_EQ(quota.used_by(kGreedy), 0u);
}

TEST(SharedQuotaTest, AnAmountNearTheEndOfNumbersIsRefused) {
  SharedQuota quota("bytes", {.limit = 800, .floor = 100});
  const auto some = quota.Take(kGreedy, 50);
  EXPECT_FALSE(quota.Take(kGreedy, UINT64_MAX - 10).ok());
  EXPECT_EQ(quota.used(), 50u);
}

}  // namespace
}  // namespace copse::daemon
