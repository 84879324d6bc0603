// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/stranger_budget.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

namespace copse::emu {
namespace {

constexpr uint32_t kBurst = StrangerBudget::kBurst;

class StrangerBudgetTest : public ::testing::Test {
 protected:
  // Returns how many of so many handshakes may begin.
  uint32_t Take(const std::string& source, uint32_t count) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count; ++i) taken += budget_.Take(source, now_);
    return taken;
  }

  StrangerBudget budget_;
  absl::Time now_ = absl::FromUnixSeconds(100);
};

TEST_F(StrangerBudgetTest, ASourceHasABurstAndThenItsRate) {
  EXPECT_EQ(Take("a", kBurst + 50), kBurst);
  EXPECT_EQ(Take("b", 10), 10u) << "others have their own";
  now_ += 5 * StrangerBudget::kEvery;
  EXPECT_EQ(Take("a", 50), 5u);
  now_ += absl::Hours(1);
  EXPECT_EQ(Take("a", 2 * kBurst), kBurst) << "no more is saved up";
}

TEST_F(StrangerBudgetTest, PeersHaveNoLimit) {
  for (uint32_t i = 0; i < 4 * kBurst; ++i) {
    ASSERT_TRUE(budget_.Take("a", now_));
    budget_.GiveBack("a");
  }
  budget_.GiveBack("a");
  budget_.GiveBack("unknown");
  EXPECT_EQ(Take("a", 2 * kBurst), kBurst) << "nor is more given back than was taken";
}

TEST_F(StrangerBudgetTest, SourcesAreForgotten) {
  for (size_t i = 0; i < StrangerBudget::kSourcesMax; ++i) Take(std::to_string(i), 1);
  EXPECT_EQ(budget_.sources(), StrangerBudget::kSourcesMax);
  now_ += StrangerBudget::kEvery;
  Take("one more", 1);
  EXPECT_EQ(budget_.sources(), 1u) << "all others have their burst again";
  for (size_t i = 0; i < StrangerBudget::kSourcesMax; ++i) Take(std::to_string(i), 2);
  EXPECT_LE(budget_.sources(), StrangerBudget::kSourcesMax);
}

std::string Source(const char* text) {
  sockaddr_storage storage = {};
  sockaddr_in v4 = {.sin_family = AF_INET,
                    .sin_port = htons(static_cast<uint16_t>(std::strlen(text))),
                    .sin_addr = {},
                    .sin_zero = {}};
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    std::memcpy(&storage, &v4, sizeof(v4));
  } else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
    std::memcpy(&storage, &v6, sizeof(v6));
  }
  return SourceOf(storage);
}

TEST(SourceOfTest, IsAHostOrANetwork) {
  EXPECT_EQ(Source("10.0.0.1"), Source("10.0.0.1"));
  EXPECT_NE(Source("10.0.0.1"), Source("10.0.0.2"));
  EXPECT_EQ(Source("fd00::1"), Source("fd00::2"));
  EXPECT_NE(Source("fd00::1"), Source("fd01::1"));
}

}  // namespace
}  // namespace copse::emu
