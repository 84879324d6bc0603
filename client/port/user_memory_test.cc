// SPDX-License-Identifier: Apache-2.0

#include "client/port/user_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace copse::client {
namespace {

class UserMemoryTest : public testing::Test {
 protected:
  bool Add(uint64_t offset, uint64_t bytes, UserMemory::Kind kind = UserMemory::Kind::kRegion) {
    UserMemory::UserRange range;
    range.kind = kind;
    range.address = bytes_ + offset;
    range.bytes = bytes;
    return memory_.Add(std::move(range));
  }

  uint8_t bytes_[1000];
  UserMemory memory_;
};

TEST_F(UserMemoryTest, RangesTouchButDoNotOverlap) {
  EXPECT_TRUE(Add(100, 100));
  for (const auto& [offset, bytes] :
       {std::pair<uint64_t, uint64_t>{100, 100}, {100, 1}, {199, 1}, {99, 2}, {50, 500}}) {
    EXPECT_FALSE(Add(offset, bytes)) << offset;
  }
  EXPECT_TRUE(Add(200, 1));
  EXPECT_TRUE(Add(0, 100));
}

TEST_F(UserMemoryTest, ReachableIsAllOfIt) {
  ASSERT_TRUE(Add(100, 100));
  ASSERT_TRUE(Add(200, 100));
  EXPECT_EQ(memory_.Reachable(bytes_ + 99, 1), nullptr);
  EXPECT_NE(memory_.Reachable(bytes_ + 100, 100), nullptr);
  EXPECT_NE(memory_.Reachable(bytes_ + 199, 1), nullptr);
  EXPECT_EQ(memory_.Reachable(bytes_ + 199, 2), nullptr);  // two ranges are not one
  EXPECT_EQ(memory_.Reachable(bytes_ + 300, 1), nullptr);
  EXPECT_EQ(memory_.Reachable(bytes_ + 150, UINT64_MAX), nullptr);
}

TEST_F(UserMemoryTest, WhatTheDaemonCannotReachIsNotReachable) {
  ASSERT_TRUE(Add(0, 100, UserMemory::Kind::kPlain));
  ASSERT_TRUE(Add(100, 100, UserMemory::Kind::kRegistered));
  ASSERT_TRUE(Add(200, 100, UserMemory::Kind::kDataArea));
  EXPECT_EQ(memory_.Reachable(bytes_, 10), nullptr);
  EXPECT_EQ(memory_.Reachable(bytes_ + 100, 10), nullptr);
  EXPECT_NE(memory_.Reachable(bytes_ + 200, 10), nullptr);
}

TEST_F(UserMemoryTest, AtKnowsStartsOnly) {
  ASSERT_TRUE(Add(100, 100));
  EXPECT_EQ(memory_.At(bytes_ + 101), nullptr);
  UserMemory::UserRange* range = memory_.At(bytes_ + 100);
  ASSERT_NE(range, nullptr);
  range->freed = true;
  EXPECT_EQ(memory_.At(bytes_ + 100), nullptr);
  memory_.Drop(range);
  EXPECT_TRUE(Add(100, 100));
}

}  // namespace
}  // namespace copse::client
