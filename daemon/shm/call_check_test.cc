// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/call_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/testing/status_matchers.h"
#include "daemon/accounts/accounts.h"
#include "daemon/shm/memory_file.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

constexpr uint64_t kDataBytes = 1 << 20;

class CheckCallTest : public ::testing::Test {
 protected:
  static ring::DqSlot Slot(Collective collective, uint64_t count) {
    ring::DqSlot slot{};
    slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
    slot.entry.collective = static_cast<uint8_t>(collective);
    slot.entry.type = static_cast<uint8_t>(ElementType::kDouble);
    slot.entry.team = 1;
    slot.entry.root = 2;
    slot.entry.count = count;
    slot.entry.send.offset = 1000;
    slot.receive.offset = 2000;
    return slot;
  }
  CheckedCall Checked(const ring::DqSlot& slot, uint32_t rank) {
    absl::StatusOr<CheckedCall> call = CheckCall(slot, {rank, 4}, regions_);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? *std::move(call) : CheckedCall{};
  }
  CallPost Post(const ring::DqSlot& slot, uint32_t rank) { return Checked(slot, rank).post; }
  // Expects the call to send and to receive so many bytes; nullopt: it has no such buffer.
  void ExpectBuffers(const ring::DqSlot& slot, uint32_t rank, std::optional<uint64_t> send_bytes,
                     std::optional<uint64_t> receive_bytes) {
    const CallPost post = Post(slot, rank);
    EXPECT_EQ(post.send, send_bytes.has_value() ? data_ + 1000 : nullptr);
    EXPECT_EQ(post.send_bytes, send_bytes.value_or(post.send_bytes));
    EXPECT_EQ(post.receive, receive_bytes.has_value() ? data_ + 2000 : nullptr);
    EXPECT_EQ(post.receive_bytes, receive_bytes.value_or(post.receive_bytes));
  }
  template <typename... Things>
  void ExpectInvalid(const ring::DqSlot& slot, uint32_t rank, const Things&... things) {
    EXPECT_THAT(CheckCall(slot, {rank, 4}, regions_).status(),
                FailsWith(absl::StatusCode::kInvalidArgument, things...));
  }
  template <typename... Things>
  void ExpectUnimplemented(const ring::DqSlot& slot, uint32_t rank, const Things&... things) {
    EXPECT_THAT(CheckCall(slot, {rank, 4}, regions_).status(), FailsWith(absl::StatusCode::kUnimplemented, things...));
  }

  Mapping memory_ = *Mapping::Map(CreateMemoryFile("test", kDataBytes)->get(), kDataBytes);
  uint8_t* data_ = memory_.data();
  Accounts accounts_;
  RegionTable regions_{data_, kDataBytes, {}, accounts_.Open(/*uid=*/0, "")};
};

TEST_F(CheckCallTest, ABarrierUsesNothing) {
  ring::DqSlot slot = Slot(Collective::kBarrier, 77);
  slot.entry.type = 255;
  slot.entry.op = 255;
  slot.receive.region = 99;
  EXPECT_EQ(Post(slot, 0).arguments.count, 0u);
  ExpectBuffers(slot, 0, std::nullopt, std::nullopt);
}

TEST_F(CheckCallTest, ALimitOfCallsUnderWayIsTakenOver) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 3);
  EXPECT_EQ(Post(slot, 0).under_way_max, 0u);
  slot.entry.under_way_max = 255;
  EXPECT_EQ(Post(slot, 0).under_way_max, 255u);
}

TEST_F(CheckCallTest, ABoundOfPairsIsOfAlltoallvAlone) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 3);
  slot.entry.flags = ring::kPairsBounded;
  EXPECT_EQ(Post(slot, 0).arguments.options, 0);
  slot = Slot(Collective::kAlltoallv, 3);
  const ring::ListPlaces places{{0, 0, 0}, {0, 0, 0}};  // of empty blocks
  memcpy(slot.entry.payload, &places, sizeof(places));
  EXPECT_EQ(Post(slot, 0).arguments.count, 0u);
  slot.entry.flags = ring::kPairsBounded;
  EXPECT_EQ(Post(slot, 0).arguments.options, kPairsBounded);
  EXPECT_EQ(Post(slot, 0).arguments.count, 3u);
  slot.entry.count = uint64_t{1} << 60;
  ExpectUnimplemented(slot, 0, "count=1152921504606846976", "limit=");
}

TEST_F(CheckCallTest, ABcastSendsAtTheRootAndReceivesElsewhere) {
  ring::DqSlot slot = Slot(Collective::kBcast, 3);
  slot.entry.op = 255;
  ExpectBuffers(slot, 2, 24, std::nullopt);
  ExpectBuffers(slot, 0, std::nullopt, 24);
}

TEST_F(CheckCallTest, AReduceReceivesAtTheRootOnly) {
  ring::DqSlot slot = Slot(Collective::kReduce, 3);
  slot.receive.region = 99;
  EXPECT_TRUE(CheckCall(slot, {0, 4}, regions_).ok());
  ExpectInvalid(slot, 2, "receive", "region=99");
}

TEST_F(CheckCallTest, UnusedPlacesMayBeAnything) {
  ring::DqSlot slot = Slot(Collective::kBcast, 3);
  slot.receive = {99, 0, ~uint64_t{0}};
  EXPECT_TRUE(CheckCall(slot, {2, 4}, regions_).ok());
  slot = Slot(Collective::kAllreduce, 0);
  slot.receive = slot.entry.send = {99, 0, ~uint64_t{0}};
  EXPECT_TRUE(CheckCall(slot, {2, 4}, regions_).ok());
}

TEST_F(CheckCallTest, InPlaceMeansTheReceiveBuffer) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 3);
  slot.entry.flags = ring::kInPlace;
  slot.entry.send.region = 99;
  EXPECT_EQ(Post(slot, 0).send, data_ + 2000);
  slot.entry.collective = static_cast<uint8_t>(Collective::kReduce);
  EXPECT_EQ(Post(slot, 2).send, data_ + 2000);
  ExpectInvalid(slot, 0, "rank=0", "root=2");
}

TEST_F(CheckCallTest, InlineMessagesAreCopiedFromTheEntry) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 8);
  memset(slot.entry.payload, 7, sizeof(slot.entry.payload));
  slot.entry.flags = ring::kSendInline;
  const CallPost post = Post(slot, 0);
  EXPECT_TRUE(post.send_is_inline);
  EXPECT_EQ(memcmp(post.inline_data.data(), slot.entry.payload, 64), 0);
  slot.entry.count = 9;
  ExpectInvalid(slot, 0, "bytes=72", "limit=64");
}

TEST_F(CheckCallTest, RefusesUnknownNumbers) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 1);
  slot.entry.type = kElementTypeCount;
  ExpectInvalid(slot, 0, "type=20", "limit=19");
  slot = Slot(Collective::kAllreduce, 1);
  slot.entry.op = kElementOpCount;
  ExpectInvalid(slot, 0, "op=12", "limit=11");
  slot = Slot(Collective::kAllreduce, 1);
  slot.entry.collective = kCollectiveCount;
  ExpectInvalid(slot, 0, "collective=" + std::to_string(kCollectiveCount),
                "limit=" + std::to_string(kCollectiveCount - 1));
}

TEST_F(CheckCallTest, RefusesMessagesThatAreTooLong) {
  EXPECT_TRUE(CheckCall(Slot(Collective::kAllreduce, 8193), {0, 4}, regions_).ok());
  ExpectUnimplemented(Slot(Collective::kAllreduce, (uint64_t{1} << 43) + 1), 0, "count=8796093022209",
                      "limit=8796093022208");
  ExpectUnimplemented(Slot(Collective::kAllreduce, uint64_t{1} << 61), 0, "count=2305843009213693952",
                      "limit=8796093022208");
  // All blocks together count.
  ExpectUnimplemented(Slot(Collective::kAllgather, uint64_t{1} << 42), 0, "limit=2199023255552");
  ExpectInvalid(Slot(Collective::kAllreduce, kDataBytes), 0, "receive", "region=0", "offset=2000");
}

TEST_F(CheckCallTest, RefusesARootThatIsNoMember) {
  ring::DqSlot slot = Slot(Collective::kGather, 1);
  slot.entry.root = 4;
  ExpectInvalid(slot, 0, "root=4", "size=4");
}

TEST_F(CheckCallTest, EqualBlocksAreAsManyAsRanks) {
  ExpectBuffers(Slot(Collective::kGather, 3), 2, 24, 96);
  ExpectBuffers(Slot(Collective::kGather, 3), 1, 24, std::nullopt);
  ExpectBuffers(Slot(Collective::kScatter, 3), 2, 96, 24);
  ExpectBuffers(Slot(Collective::kScatter, 3), 1, std::nullopt, 24);
  ExpectBuffers(Slot(Collective::kAlltoall, 3), 0, 96, 96);
  ExpectBuffers(Slot(Collective::kReduceScatter, 3), 0, 96, 24);
  ExpectBuffers(Slot(Collective::kExscan, 3), 0, 24, std::nullopt);
}

TEST_F(CheckCallTest, InPlaceIsForOneBlockEach) {
  for (const Collective c : {Collective::kAllgather, Collective::kReduceScatter, Collective::kAlltoall}) {
    ring::DqSlot slot = Slot(c, 3);
    slot.entry.flags = ring::kInPlace;
    ExpectInvalid(slot, 2, "rank=2", "root=0");
  }
  ring::DqSlot slot = Slot(Collective::kScan, 3);
  slot.entry.flags = ring::kInPlace;
  EXPECT_EQ(Post(slot, 1).send, data_ + 2000);
}

// --- Lists of blocks ---

class CheckListsTest : public CheckCallTest {
 protected:
  static constexpr uint64_t kSendList = 16384;
  static constexpr uint64_t kReceiveList = 20480;

  // A team of four ranks. `entry.count` is the size of a rank's one block.
  ring::DqSlot Irregular(Collective collective, uint64_t count) {
    ring::DqSlot slot = Slot(collective, count);
    const ring::ListPlaces places{{0, 0, kSendList}, {0, 0, kReceiveList}};
    memcpy(slot.entry.payload, &places, sizeof(places));
    return slot;
  }
  void Write(uint64_t list, const std::vector<ring::Block>& blocks) {
    memcpy(data_ + list, blocks.data(), blocks.size() * sizeof(ring::Block));
  }
};

TEST_F(CheckListsTest, ARootKnowsWhereBlocksGo) {
  Write(kReceiveList, {{800, 16}, {0, 0}, {160, 8}, {~uint64_t{0}, 0}});
  const CheckedCall call = Checked(Irregular(Collective::kGatherv, 1), 2);
  const BlockList expected = {{800, 16}, {0, 0}, {160, 8}, {0, 0}};
  ASSERT_NE(call.post.receive_blocks, nullptr);
  EXPECT_EQ(*call.post.receive_blocks, expected);
  EXPECT_EQ(call.post.send_blocks, nullptr);
  EXPECT_EQ(call.post.receive_bytes, 816u);
  EXPECT_EQ(call.post.send_bytes, 8u);
  EXPECT_EQ(call.post.arguments.count, 0u);
  EXPECT_EQ(call.post.arguments.counts_hash, 0u);
  EXPECT_EQ(call.list_bytes, 64u);
  // Elsewhere nobody reads lists.
  ring::DqSlot slot = Irregular(Collective::kGatherv, 2);
  const ring::ListPlaces nowhere{{9, 0, 0}, {9, 0, 0}};
  memcpy(slot.entry.payload, &nowhere, sizeof(nowhere));
  EXPECT_EQ(Post(slot, 0).receive_blocks, nullptr);
  EXPECT_EQ(Checked(slot, 0).list_bytes, 0u);
  ExpectInvalid(slot, 2, "receive", "region=9");
}

TEST_F(CheckListsTest, KnownCountsAreHashedOnEveryRank) {
  Write(kReceiveList, {{800, 16}, {0, 0}, {160, 8}, {0, 0}});
  ring::DqSlot slot = Irregular(Collective::kGatherv, 2);
  slot.entry.flags = ring::kCountsKnown;
  const CheckedCall leaf = Checked(slot, 0);
  EXPECT_EQ(leaf.post.arguments.counts_hash, HashCounts({16, 0, 8, 0}));
  EXPECT_EQ(leaf.post.arguments.options, kCountsKnown);
  EXPECT_EQ(leaf.post.receive, nullptr);
  ASSERT_NE(leaf.post.receive_blocks, nullptr);
  // Where they lie is a rank's own matter.
  Write(kReceiveList, {{0, 16}, {16, 0}, {16, 8}, {24, 0}});
  ExpectInvalid(slot, 2, "rank=2", "count=2", "counted=1");
  slot.entry.count = 1;
  EXPECT_EQ(Post(slot, 2).arguments, leaf.post.arguments);
  const CheckedCall all = Checked(Irregular(Collective::kAllgatherv, 0), 1);
  EXPECT_EQ(all.post.arguments.counts_hash, leaf.post.arguments.counts_hash);
  EXPECT_EQ(all.post.arguments.count, 3u);
  EXPECT_EQ(all.post.receive_bytes, 24u);
}

TEST_F(CheckListsTest, BlocksAreSlicesOfAReduceScatter) {
  Write(kSendList, {{0, 8}, {8, 16}, {24, 0}, {24, 8}});
  const CheckedCall call = Checked(Irregular(Collective::kReduceScatterv, 2), 1);
  EXPECT_EQ(call.post.send_bytes, 32u);
  EXPECT_EQ(call.post.receive_bytes, 16u);
  EXPECT_EQ(call.post.arguments.count, 4u);
  EXPECT_EQ(call.post.arguments.counts_hash, HashCounts({8, 16, 0, 8}));
}

TEST_F(CheckListsTest, AnAlltoallvHasTwo) {
  Write(kSendList, {{0, 8}, {0, 8}, {0, 8}, {0, 8}});
  Write(kReceiveList, {{0, 8}, {100, 16}, {0, 0}, {24, 8}});
  const CheckedCall call = Checked(Irregular(Collective::kAlltoallv, 77), 1);
  EXPECT_EQ(call.post.send_bytes, 8u);
  EXPECT_EQ(call.post.receive_bytes, 116u);
  EXPECT_EQ(call.list_bytes, 128u);
  EXPECT_EQ(call.post.arguments.count, 0u);
  EXPECT_EQ(call.post.arguments.counts_hash, 0u);
}

TEST_F(CheckListsTest, BlocksThatCannotBeAreNamed) {
  const ring::DqSlot slot = Irregular(Collective::kAllgatherv, 1);
  Write(kReceiveList, {{0, 8}, {8, 9}, {0, 0}, {0, 0}});
  ExpectInvalid(slot, 0, "rank=1", "bytes=9", "type_bytes=8");
  Write(kReceiveList, {{0, 8}, {~uint64_t{7}, 16}, {0, 0}, {0, 0}});
  ExpectInvalid(slot, 0, "rank=1", "offset=18446744073709551608", "bytes=16");
  Write(kReceiveList, {{0, 8}, {8, uint64_t{1} << 45}, {0, uint64_t{1} << 45}, {0, 0}});
  ExpectUnimplemented(slot, 0, "rank=2");
  Write(kReceiveList, {{0, 8}, {8, 8}, {kDataBytes - 2000, 8}, {0, 0}});
  ExpectInvalid(slot, 0, "receive", "region=0", "offset=2000", "bytes=1046584");
  Write(kReceiveList, {{0, 8}, {8, 8}, {kDataBytes - 2008, 8}, {0, 0}});
  EXPECT_TRUE(CheckCall(slot, {0, 4}, regions_).ok());
  ring::DqSlot outside = slot;
  const ring::ListPlaces places{{}, {0, 0, kDataBytes - 63}};
  memcpy(outside.entry.payload, &places, sizeof(places));
  ExpectInvalid(outside, 0, "receive", "region=0");
}

}  // namespace
}  // namespace copse::daemon
