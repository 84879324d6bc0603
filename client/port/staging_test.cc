// SPDX-License-Identifier: Apache-2.0

#include "client/port/staging.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace copse::client {
namespace {

constexpr uint64_t kDataBytes = 4096;

class StagingTest : public testing::Test {
 protected:
  void AddBounce(uint64_t bytes, uint32_t region) {
    ASSERT_TRUE(staging_.Reserve(bytes));
    const FileDescriptor file(memfd_create("bounce", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
    Mapping mapping(file.get(), bytes, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(mapping.valid());
    staging_.Add(std::move(mapping), bytes, region);
  }

  std::vector<uint8_t> data_ = std::vector<uint8_t>(kDataBytes);
  Staging staging_{data_.data(), kDataBytes};
};

TEST_F(StagingTest, WhatIsShortLiesInTheDataArea) {
  EXPECT_FALSE(staging_.NeedsBounce(kDataBytes / 2));
  const auto first = staging_.Allocate(kDataBytes / 2);
  const auto second = staging_.Allocate(kDataBytes / 2);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->area->region, 0u);
  EXPECT_EQ(first->address(), data_.data());
  EXPECT_EQ(second->address(), data_.data() + kDataBytes / 2);
  EXPECT_FALSE(staging_.Allocate(1).has_value());
  staging_.Free(*first);
  EXPECT_EQ(staging_.Allocate(100)->address(), data_.data());
  staging_.Free({});  // none
}

TEST_F(StagingTest, WhatIsLongWaitsForABounceRegion) {
  EXPECT_TRUE(staging_.NeedsBounce(kDataBytes / 2 + 1));
  EXPECT_FALSE(staging_.Allocate(kDataBytes / 2 + 1).has_value());
  AddBounce(3 * 4096, 7);
  const auto block = staging_.Allocate(2 * 4096);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->area->region, 7u);
  block->address()[2 * 4096 - 1] = 1;  // it is mapped
  // The second one does not fit behind it; short ones never go there.
  EXPECT_FALSE(staging_.Allocate(2 * 4096).has_value());
  EXPECT_EQ(staging_.Allocate(100)->area->region, 0u);
  AddBounce(2 * 4096, 9);
  EXPECT_EQ(staging_.Allocate(2 * 4096)->area->region, 9u);
}

TEST_F(StagingTest, IdleRegionsAreDroppedAndTheirBytesCountNoMore) {
  AddBounce(2 * 4096, 7);
  AddBounce(4 * 4096, 9);
  const auto block = staging_.Allocate(3 * 4096);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(staging_.bounce_bytes(), 6u * 4096);
  EXPECT_EQ(staging_.DropIdle(), std::vector<uint32_t>{7});
  EXPECT_EQ(staging_.bounce_bytes(), 4u * 4096);
  EXPECT_TRUE(staging_.DropIdle().empty());
  staging_.Free(*block);
  EXPECT_EQ(staging_.DropIdle(), std::vector<uint32_t>{9});
  EXPECT_EQ(staging_.bounce_bytes(), 0u);
}

TEST_F(StagingTest, BounceRegionsThatAreKeptHaveALimitTogether) {
  EXPECT_TRUE(staging_.Reserve(Staging::kBounceBytesMax));
  EXPECT_FALSE(staging_.Reserve(1));
  EXPECT_EQ(staging_.bounce_bytes(), Staging::kBounceBytesMax);
  staging_.Unreserve(Staging::kBounceBytesMax);  // could not be added
  EXPECT_TRUE(staging_.Reserve(1));
}

TEST_F(StagingTest, WhatIsLongerThanTheLimitHasARegionThatGoesWithIt) {
  staging_.set_bounce_bytes_max(4 * 4096);
  AddBounce(4 * 4096, 7);
  AddBounce(5 * 4096, 9);
  EXPECT_EQ(staging_.bounce_bytes(), 4u * 4096);
  const auto kept = staging_.Allocate(3 * 4096);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->area->region, 7u);
  EXPECT_FALSE(staging_.Allocate(3 * 4096).has_value());
  const auto own = staging_.Allocate(5 * 4096);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->area->region, 9u);
  EXPECT_EQ(staging_.Free(*kept), 0u);
  EXPECT_EQ(staging_.Free(*own), 9u);
  EXPECT_FALSE(staging_.Allocate(5 * 4096).has_value());
  EXPECT_EQ(staging_.bounce_bytes(), 4u * 4096);
}

}  // namespace
}  // namespace copse::client
