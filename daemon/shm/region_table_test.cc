// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/region_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"
#include "daemon/accounts/accounts.h"
#include "daemon/shm/memory_file.h"

namespace copse::daemon {
namespace {

ring::Place At(uint32_t region, uint64_t offset) { return {region, 0, offset}; }

constexpr uint32_t kUid = 1000, kOtherUid = 2000;

class RegionTableTest : public ::testing::Test {
 protected:
  uint8_t data_[100] = {};
  Accounts accounts_;
  RegionTable table_{data_, sizeof(data_), {.regions_max = 2, .bytes_max = 10000}, accounts_.Open(kUid, "")};
  UniqueFd memory_ = *CreateMemoryFile("test", 8192);
};

TEST_F(RegionTableTest, RegionZeroIsTheDataArea) {
  EXPECT_EQ(*table_.Resolve("send", At(0, 0), 100), data_);
  EXPECT_EQ(*table_.Resolve("send", At(0, 100), 0), data_ + 100);
}

TEST_F(RegionTableTest, RefusesWhatLeavesARegion) {
  const uint64_t most = ~uint64_t{0};
  for (const auto& [offset, bytes] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, 101}, {100, 1}, {101, 0}, {1, 100}, {most, 1}, {most, most}, {1, most}, {50, most - 49}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(table_.Resolve("send", At(0, offset), bytes).status()))
        << offset << " " << bytes;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(table_.Resolve("send", At(1, 0), 0).status()));
}

TEST_F(RegionTableTest, RegisteredMemoryIsTheClients) {
  const absl::StatusOr<uint32_t> region = table_.Register(memory_, 8192);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_NE(*region, 0u);
  const absl::StatusOr<Mapping> mine = Mapping::Map(memory_.get(), 8192);
  mine->data()[8191] = 9;
  EXPECT_EQ(**table_.Resolve("receive", At(*region, 8191), 1), 9);
  EXPECT_FALSE(table_.Resolve("receive", At(*region, 8191), 2).ok());
}

TEST_F(RegionTableTest, KeepsItsLimits) {
  EXPECT_TRUE(absl::IsInvalidArgument(table_.Register(memory_, 0).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(table_.Register(memory_, ~uint64_t{0}).status()));
  ASSERT_TRUE(table_.Register(memory_, 8192).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(table_.Register(memory_, 8192).status()));
  ASSERT_TRUE(table_.Register(memory_, 1).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(table_.Register(memory_, 1).status()));
}

TEST_F(RegionTableTest, RegionsOfAllTablesAreBounded) {
  const RegionLimits limits{.all_max = 3};
  Accounts all;
  ShareRegions(limits, &all);
  auto first = std::make_unique<RegionTable>(data_, sizeof(data_), limits, all.Open(kUid, ""));
  RegionTable second(data_, sizeof(data_), limits, all.Open(kUid, ""));
  ASSERT_TRUE(first->Register(memory_, 8192).ok());
  ASSERT_TRUE(first->Register(memory_, 8192).ok());
  const absl::StatusOr<uint32_t> third = second.Register(memory_, 8192);
  ASSERT_TRUE(third.ok());
  EXPECT_TRUE(absl::IsResourceExhausted(first->Register(memory_, 8192).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(second.Register(memory_, 8192).status()));
  ASSERT_TRUE(second.Deregister(*third, 0).ok());
  EXPECT_EQ(second.Sweep().size(), 1u);
  EXPECT_TRUE(second.Register(memory_, 8192).ok());
  first.reset();
  EXPECT_EQ(all.used(Resource::kRegions), 1u);
  EXPECT_EQ(all.used_by(kUid, Resource::kRegionBytes), 8192u);
  EXPECT_TRUE(second.Register(memory_, 8192).ok());
}

TEST_F(RegionTableTest, AUserWhoTakesAllRegionsLeavesSomeForOthers) {
  const RegionLimits limits{.all_max = 8};
  Accounts all;
  ShareRegions(limits, &all);
  RegionTable greedy(data_, sizeof(data_), limits, all.Open(kUid, ""));
  RegionTable modest(data_, sizeof(data_), limits, all.Open(kOtherUid, ""));
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(greedy.Register(memory_, 1).ok());
  EXPECT_THAT(greedy.Register(memory_, 1).status(),
              testing::FailsWith(absl::StatusCode::kResourceExhausted, "uid=1000", "used=7", "limit=8"));
  EXPECT_TRUE(modest.Register(memory_, 1).ok());
}

TEST_F(RegionTableTest, AUserWhoTakesAllBytesLeavesSomeForOthers) {
  const RegionLimits limits{.all_bytes_max = 16384};
  Accounts all;
  ShareRegions(limits, &all);
  RegionTable greedy(data_, sizeof(data_), limits, all.Open(kUid, ""));
  RegionTable modest(data_, sizeof(data_), limits, all.Open(kOtherUid, ""));
  ASSERT_TRUE(greedy.Register(memory_, 8192).ok());
  EXPECT_THAT(greedy.Register(memory_, 8192).status(),
              testing::FailsWith(absl::StatusCode::kResourceExhausted, "uid=1000", "used=8192", "limit=16384"));
  ASSERT_TRUE(greedy.Register(memory_, 6144).ok());
  EXPECT_EQ(all.used(Resource::kRegions), 2u) << "a refusal takes nothing";
  EXPECT_TRUE(modest.Register(memory_, 1024).ok());
  EXPECT_TRUE(RegionTable(data_, sizeof(data_), limits, all.Open(3000, "")).Register(memory_, 512).ok());
}

TEST_F(RegionTableTest, MemoryWithoutItsPagesIsBounded) {
  const RegionLimits limits{.all_sparse_max = 8192};
  Accounts all;
  ShareRegions(limits, &all);
  RegionTable table(data_, sizeof(data_), limits, all.Open(kUid, ""));
  ASSERT_TRUE(table.Register(memory_, 4096).ok());
  EXPECT_THAT(table.Register(memory_, 4096).status(),
              testing::FailsWith(absl::StatusCode::kResourceExhausted, "uid=1000", "used=4096", "limit=8192"));
  const absl::StatusOr<Mapping> mine = Mapping::Map(memory_.get(), 8192);
  memset(mine->data(), 1, 8192);
  EXPECT_TRUE(table.Register(memory_, 8192).ok()) << "the client has made all its pages";
  EXPECT_EQ(all.used(Resource::kSparseBytes), 4096u);
}

TEST_F(RegionTableTest, ADeregisteredRegionLastsUntilItsLastCall) {
  const uint32_t region = *table_.Register(memory_, 8192);
  table_.Use(region);
  table_.Use(0);
  ASSERT_TRUE(table_.Deregister(region, 0).ok());
  EXPECT_FALSE(table_.Resolve("send", At(region, 0), 1).ok());
  EXPECT_FALSE(table_.Deregister(region, 0).ok());
  EXPECT_TRUE(table_.Sweep().empty());
  table_.Unuse(region);
  table_.Unuse(0);
  EXPECT_EQ(table_.Sweep(), std::vector<uint32_t>{region});
  EXPECT_TRUE(table_.Sweep().empty());
  EXPECT_TRUE(table_.Register(memory_, 8192).ok());  // its bytes are free again
}

TEST_F(RegionTableTest, WhatWasPostedBeforeADeregistrationMayNameTheRegion) {
  const uint32_t region = *table_.Register(memory_, 8192);
  table_.CountPosts(1);
  ASSERT_TRUE(table_.Deregister(region, 3).ok());  // two posts are in the queue
  EXPECT_FALSE(table_.Deregister(region, 3).ok());
  EXPECT_TRUE(table_.Resolve("send", At(region, 0), 1).ok());
  table_.Use(region);
  table_.CountPosts(2);
  EXPECT_TRUE(table_.Resolve("send", At(region, 0), 1).ok());
  EXPECT_TRUE(table_.Sweep().empty());
  table_.CountPosts(3);
  EXPECT_FALSE(table_.Resolve("send", At(region, 0), 1).ok());
  EXPECT_TRUE(table_.Sweep().empty());
  table_.Unuse(region);
  EXPECT_EQ(table_.Sweep(), std::vector<uint32_t>{region});
}

TEST_F(RegionTableTest, CannotDeregisterWhatIsNotThere) {
  EXPECT_TRUE(absl::IsInvalidArgument(table_.Deregister(0, 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(table_.Deregister(7, 9)));
}

}  // namespace
}  // namespace copse::daemon
