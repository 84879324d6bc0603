// SPDX-License-Identifier: Apache-2.0

#include "client/port/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "client/port/arguments.h"

namespace copse::client {
namespace {

constexpr uint32_t kSize = 4;
constexpr uint32_t kRank = 1;
constexpr uint32_t kRegion = 5;
constexpr uint64_t kCount = 100;  // more than an entry carries
constexpr uint64_t kBytes = kCount * sizeof(int32_t);

class PlacementTest : public testing::Test {
 protected:
  PlacementTest() {
    for (size_t i = 0; i < send_.size(); ++i) send_[i] = static_cast<int32_t>(i);
    recv_.fill(-1);
  }

  copse_coll_args_t Args(copse_collective_t collective, uint64_t count = kCount) {
    copse_coll_args_t args{.collective = collective,
                           .type = COPSE_DT_INT32,
                           .op = COPSE_OP_SUM,
                           .root = kRank,
                           .send = send_.data(),
                           .recv = recv_.data(),
                           .count = count};
    return args;
  }
  // `array` becomes memory that the daemon reaches, from its element `first` on.
  template <typename Array>
  void Reach(Array& array, size_t first = 0) {
    UserMemory::UserRange range;
    range.kind = UserMemory::Kind::kRegion;
    range.address = reinterpret_cast<uint8_t*>(array.data() + first);
    range.bytes = (array.size() - first) * sizeof(array[0]);
    range.region = kRegion;
    ASSERT_TRUE(memory_.Add(std::move(range)));
  }
  void Place(const copse_coll_args_t& args) {
    ASSERT_EQ(PlanCall(args, kRank, kSize, 1 << 20, &plan_), COPSE_OK);
    const Placement placement(plan_, &memory_);
    staged_ = placement.staging_bytes();
    Staging::Allocation block;
    if (staged_ > 0) block = *staging_.Allocate(staged_);
    slot_ = {};
    call_ = {};
    placement.Fill(block, &slot_, &call_);
  }
  const int32_t* Staged(const ring::Place& place) const {
    EXPECT_EQ(place.region, 0u);
    return reinterpret_cast<const int32_t*>(area_.data() + place.offset);
  }
  ring::ListPlaces Lists() const {
    ring::ListPlaces lists;
    memcpy(&lists, slot_.entry.payload, sizeof(lists));
    return lists;
  }
  std::vector<Block> ListAt(const ring::Place& place) const {
    std::vector<Block> list(kSize);
    memcpy(list.data(), area_.data() + place.offset, kSize * sizeof(Block));
    return list;
  }

  std::array<int32_t, 1000> send_;
  std::array<int32_t, 1000> recv_;
  UserMemory memory_;
  std::vector<uint8_t> area_ = std::vector<uint8_t>(64 * 1024);
  Staging staging_{area_.data(), area_.size()};
  CallPlan plan_;
  uint64_t staged_ = 0;
  ring::DqSlot slot_;
  CallInFlight call_;
};

TEST_F(PlacementTest, ShortContributionsTravelInTheEntry) {
  Place(Args(COPSE_COLL_ALLREDUCE, 16));
  EXPECT_EQ(slot_.entry.flags, ring::kSendInline);
  EXPECT_EQ(memcmp(slot_.entry.payload, send_.data(), 64), 0);
  EXPECT_EQ(staged_, 64u);  // the result
  EXPECT_EQ(call_.copy_to, reinterpret_cast<uint8_t*>(recv_.data()));
  EXPECT_EQ(call_.copy_bytes, 64u);

  Place(Args(COPSE_COLL_ALLREDUCE, 17));
  EXPECT_EQ(slot_.entry.flags, ring::kInPlace);  // nobody else needs a copy of it
  EXPECT_EQ(Staged(slot_.entry.send)[16], 16);
}

TEST_F(PlacementTest, WhatTheDaemonReachesIsNotCopied) {
  Reach(send_, 10);
  Reach(recv_);
  copse_coll_args_t args = Args(COPSE_COLL_ALLREDUCE);
  args.send = send_.data() + 12;
  Place(args);
  EXPECT_EQ(staged_, 0u);
  EXPECT_EQ(slot_.entry.send.region, kRegion);
  EXPECT_EQ(slot_.entry.send.offset, 2 * sizeof(int32_t));
  EXPECT_EQ(slot_.receive.region, kRegion);
  EXPECT_EQ(call_.copy_to, nullptr);
  ASSERT_NE(call_.send_range, nullptr);
  EXPECT_EQ(call_.send_range->calls, 1u);
  EXPECT_EQ(call_.receive_range->calls, 1u);

  // Only a part of it is reachable: all of it is copied.
  args.send = send_.data() + 9;
  Place(args);
  EXPECT_EQ(call_.send_range, nullptr);
  EXPECT_EQ(Staged(slot_.entry.send)[0], 9);
}

TEST_F(PlacementTest, InPlaceReductionsHaveOneBuffer) {
  copse_coll_args_t args = Args(COPSE_COLL_ALLREDUCE);
  args.send = COPSE_IN_PLACE;
  recv_[3] = 33;
  Place(args);
  EXPECT_NE(slot_.entry.flags & ring::kInPlace, 0);
  EXPECT_EQ(staged_, kBytes);
  EXPECT_EQ(Staged(slot_.receive)[3], 33);
  EXPECT_EQ(call_.copy_to, reinterpret_cast<uint8_t*>(recv_.data()));

  Reach(recv_);
  Place(args);
  EXPECT_NE(slot_.entry.flags & ring::kInPlace, 0);
  EXPECT_EQ(staged_, 0u);
  EXPECT_EQ(slot_.receive.region, kRegion);
}

TEST_F(PlacementTest, AGathersContributionIsPutWhereItBelongs) {
  Place(Args(COPSE_COLL_ALLGATHER));
  EXPECT_EQ(staged_, kSize * kBytes);
  // It lies in this rank's own block of the result, so nobody copies it there.
  EXPECT_EQ(slot_.entry.send.offset, slot_.receive.offset + kRank * kBytes);
  EXPECT_EQ(Staged(slot_.entry.send)[5], 5);
  EXPECT_EQ(call_.copy_bytes, kSize * kBytes);
}

TEST_F(PlacementTest, AnAlltoallInPlaceIsCopiedEvenIfReachable) {
  Reach(recv_);
  copse_coll_args_t args = Args(COPSE_COLL_ALLTOALL);
  args.send = COPSE_IN_PLACE;
  recv_[2] = 22;
  Place(args);
  // What is sent would be overwritten while others still need it.
  EXPECT_EQ(staged_, kSize * kBytes);
  EXPECT_EQ(Staged(slot_.entry.send)[2], 22);
  EXPECT_EQ(slot_.receive.region, kRegion);
  EXPECT_EQ(call_.copy_to, nullptr);
}

TEST_F(PlacementTest, StagedBlocksArePackedAndTheListSaysSo) {
  const uint64_t counts[kSize] = {3, 100, 0, 7};
  const uint64_t displacements[kSize] = {500, 200, 0, 10};
  copse_coll_args_t args = Args(COPSE_COLL_SCATTERV, 100);
  args.mask = COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
  args.send_counts = counts;
  args.send_displacements = displacements;
  Place(args);
  const std::vector<Block> list = ListAt(Lists().send);
  uint64_t at = 0;
  for (uint32_t rank = 0; rank < kSize; ++rank) {
    EXPECT_EQ(list[rank].bytes, counts[rank] * 4);
    if (counts[rank] == 0) continue;
    EXPECT_EQ(list[rank].offset, at);
    EXPECT_EQ(Staged(slot_.entry.send)[at / 4], static_cast<int32_t>(displacements[rank]));
    at += list[rank].bytes;
  }

  // Reachable: as they lie.
  Reach(send_);
  Place(args);
  EXPECT_EQ(slot_.entry.send.region, kRegion);
  EXPECT_EQ(ListAt(Lists().send)[0].offset, 500u * 4);
  EXPECT_EQ(ListAt(Lists().send)[3].offset, 10u * 4);
}

TEST_F(PlacementTest, ReceivedBlocksComeOutOfStagingOneByOne) {
  const uint64_t counts[kSize] = {3, 100, 0, 7};
  const uint64_t displacements[kSize] = {500, 200, 0, 10};
  copse_coll_args_t args = Args(COPSE_COLL_GATHERV, 100);
  args.mask = COPSE_COLL_ARGS_FIELD_RECV_COUNTS | COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
  args.recv_counts = counts;
  args.recv_displacements = displacements;
  Place(args);
  ASSERT_NE(call_.copy_blocks, nullptr);
  // As if the daemon had written them.
  auto* received = reinterpret_cast<int32_t*>(const_cast<uint8_t*>(call_.copy_from));
  for (int32_t i = 0; i < 110; ++i) received[i] = 1000 + i;
  call_.copy_blocks->Unpack(call_.copy_from, call_.copy_to);
  EXPECT_EQ(recv_[500], 1000);
  EXPECT_EQ(recv_[502], 1002);
  EXPECT_EQ(recv_[503], -1);
  EXPECT_EQ(recv_[200], 1003);
  EXPECT_EQ(recv_[299], 1102);
  EXPECT_EQ(recv_[10], 1103);
  EXPECT_EQ(recv_[9], -1);
  EXPECT_EQ(recv_[17], -1);
}

TEST_F(PlacementTest, RanksWithoutDataNeedNothing) {
  copse_coll_args_t args = Args(COPSE_COLL_BARRIER);
  Place(args);
  EXPECT_EQ(staged_, 0u);
  EXPECT_EQ(call_.copy_to, nullptr);
  Place(Args(COPSE_COLL_ALLREDUCE, 0));
  EXPECT_EQ(staged_, 0u);
  EXPECT_EQ(slot_.entry.flags & ring::kSendInline, 0);
}

}  // namespace
}  // namespace copse::client
