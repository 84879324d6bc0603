// SPDX-License-Identifier: Apache-2.0

#include "client/port/call_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace copse::client {
namespace {

TEST(CallTableTest, HoldsAsManyAsItHasEntries) {
  CallTable table(4);
  std::set<uint64_t> values;
  uint64_t value = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(table.Take(&value), nullptr);
    values.insert(value);
  }
  EXPECT_EQ(values.size(), 4u);
  EXPECT_EQ(table.in_use(), 4u);
  EXPECT_EQ(table.Take(&value), nullptr);
}

TEST(CallTableTest, AValueIsGoodOnce) {
  CallTable table(1);
  uint64_t first = 0, second = 0;
  CallInFlight* call = table.Take(&first);
  EXPECT_EQ(table.Find(first), call);
  table.Release(call);
  EXPECT_EQ(table.Find(first), nullptr);
  ASSERT_EQ(table.Take(&second), call);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.Find(first), nullptr);
  EXPECT_EQ(table.Find(second), call);
}

TEST(CallTableTest, ValuesOutOfRangeFindNothing) {
  CallTable table(2);
  uint64_t value = 0;
  ASSERT_NE(table.Take(&value), nullptr);
  for (const uint64_t wrong : {uint64_t{2}, value + 1, value + 2, UINT64_MAX, value + (uint64_t{1} << 32)}) {
    EXPECT_EQ(table.Find(wrong), nullptr);
  }
}

TEST(RoundTest, EndCountsItsTeamDownOnce) {
  uint32_t running = 2;
  Round round;
  round.state = Round::State::kInProgress;
  round.running = &running;
  round.End(COPSE_ERR_MISMATCH, "why", {});
  EXPECT_EQ(running, 1u);
  EXPECT_EQ(round.state, Round::State::kComplete);
  EXPECT_EQ(round.text, "why");
  round.End(COPSE_OK, "", {});
  EXPECT_EQ(running, 1u);
}

}  // namespace
}  // namespace copse::client
