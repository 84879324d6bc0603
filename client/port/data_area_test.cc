// SPDX-License-Identifier: Apache-2.0

#include "client/port/data_area.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace copse::client {
namespace {

TEST(DataAreaTest, BlocksAreWholeGranulesFromTheStart) {
  DataArea area(1024);
  const auto first = area.Allocate(1);
  const auto second = area.Allocate(65);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(first->offset, 0u);
  EXPECT_EQ(first->bytes, 64u);
  EXPECT_EQ(second->offset, 64u);
  EXPECT_EQ(second->bytes, 128u);
  EXPECT_EQ(area.bytes_free(), 1024u - 64 - 128);
}

TEST(DataAreaTest, NothingForZeroOrTooMuch) {
  DataArea area(1000);
  EXPECT_EQ(area.bytes(), 960u);  // whole granules
  EXPECT_FALSE(area.Allocate(0).has_value());
  EXPECT_FALSE(area.Allocate(961).has_value());
  EXPECT_FALSE(area.Allocate(UINT64_MAX).has_value());
  EXPECT_FALSE(area.Allocate(UINT64_MAX - 63).has_value());
  EXPECT_TRUE(area.Allocate(960).has_value());
  EXPECT_FALSE(area.Allocate(1).has_value());
}

TEST(DataAreaTest, AnEmptyAreaGivesNothing) {
  DataArea area(0);
  EXPECT_FALSE(area.Allocate(1).has_value());
  area.Free({});
  EXPECT_EQ(area.bytes_free(), 0u);
}

TEST(DataAreaTest, NeighborsJoinInEveryOrder) {
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    DataArea area(3 * 64);
    std::vector<Block> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(*area.Allocate(64));
    for (const int i : order) area.Free(blocks[static_cast<size_t>(i)]);
    EXPECT_TRUE(area.Allocate(3 * 64).has_value());
  }
}

TEST(DataAreaTest, AHoleIsUsedAgainBeforeTheRest) {
  DataArea area(1024);
  const auto first = *area.Allocate(128);
  ASSERT_TRUE(area.Allocate(64).has_value());
  area.Free(first);
  EXPECT_EQ(area.Allocate(64)->offset, 0u);
  EXPECT_EQ(area.Allocate(128)->offset, 192u);  // does not fit the rest of the hole
  EXPECT_EQ(area.Allocate(64)->offset, 64u);
}

TEST(DataAreaTest, RandomBlocksNeverOverlapAndAllComesBack) {
  constexpr uint64_t kBytes = 64 * 1024;
  DataArea area(kBytes);
  std::mt19937 numbers(7);
  std::vector<Block> blocks;
  std::vector<bool> taken(kBytes / 64);
  for (int step = 0; step < 20000; ++step) {
    if (numbers() % 2 == 0) {
      const auto block = area.Allocate(1 + numbers() % 3000);
      if (!block.has_value()) continue;
      for (uint64_t i = block->offset / 64; i < (block->offset + block->bytes) / 64; ++i) {
        ASSERT_FALSE(taken[i]);
        taken[i] = true;
      }
      blocks.push_back(*block);
    } else if (!blocks.empty()) {
      const size_t index = numbers() % blocks.size();
      for (uint64_t i = blocks[index].offset / 64; i < (blocks[index].offset + blocks[index].bytes) / 64; ++i) {
        taken[i] = false;
      }
      area.Free(blocks[index]);
      blocks[index] = blocks.back();
      blocks.pop_back();
    }
  }
  for (const auto& block : blocks) area.Free(block);
  EXPECT_EQ(area.bytes_free(), kBytes);
  EXPECT_TRUE(area.Allocate(kBytes).has_value());
}

}  // namespace
}  // namespace copse::client
