// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/call_check.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "base/prng.h"
#include "daemon/shm/memory_file.h"

namespace copse::daemon {
namespace {

using schedule::Collective;

constexpr uint64_t kDataBytes = 1 << 20;

class CheckCallTest : public testing::Test {
 protected:
  static ring::DqSlot Slot(Collective collective, uint64_t count) {
    ring::DqSlot slot{};
    slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
    slot.entry.collective = static_cast<uint8_t>(collective);
    slot.entry.type = static_cast<uint8_t>(emu::AluType::kDouble);
    slot.entry.team = 1;
    slot.entry.root = 2;
    slot.entry.count = count;
    slot.entry.send.offset = 1000;
    slot.receive.offset = 2000;
    return slot;
  }
  void ExpectInvalid(const ring::DqSlot& slot, uint32_t rank, const char* why) {
    const absl::Status status = CheckCall(slot, rank, regions_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(std::string(status.message()).find(why), std::string::npos) << status;
  }

  Mapping memory_ = *Mapping::Map(CreateMemoryFile("test", kDataBytes)->get(), kDataBytes);
  uint8_t* data_ = memory_.data();
  RegionTable regions_{data_, kDataBytes, {}};
};

TEST_F(CheckCallTest, ABarrierUsesNothing) {
  ring::DqSlot slot = Slot(Collective::kBarrier, 77);
  slot.entry.type = 255;
  slot.entry.op = 255;
  slot.receive.region = 99;
  const absl::StatusOr<CheckedCall> call = CheckCall(slot, 0, regions_);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->post.arguments.count, 0u);
  EXPECT_EQ(call->post.send, nullptr);
  EXPECT_EQ(call->post.receive, nullptr);
}

TEST_F(CheckCallTest, ABcastSendsAtTheRootAndReceivesElsewhere) {
  ring::DqSlot slot = Slot(Collective::kBcast, 3);
  slot.entry.op = 255;
  absl::StatusOr<CheckedCall> call = CheckCall(slot, 2, regions_);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->post.send, data_ + 1000);
  EXPECT_EQ(call->post.send_bytes, 24u);
  EXPECT_EQ(call->post.receive, nullptr);
  call = CheckCall(slot, 0, regions_);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->post.send, nullptr);
  EXPECT_EQ(call->post.receive, data_ + 2000);
  EXPECT_EQ(call->post.receive_bytes, 24u);
}

TEST_F(CheckCallTest, AReduceReceivesAtTheRootOnly) {
  ring::DqSlot slot = Slot(Collective::kReduce, 3);
  slot.receive.region = 99;
  EXPECT_TRUE(CheckCall(slot, 0, regions_).ok());
  ExpectInvalid(slot, 2, "receive buffer: no such region (region=99)");
}

TEST_F(CheckCallTest, UnusedPlacesMayBeAnything) {
  ring::DqSlot slot = Slot(Collective::kBcast, 3);
  slot.receive = {99, 0, ~uint64_t{0}};
  EXPECT_TRUE(CheckCall(slot, 2, regions_).ok());
  slot = Slot(Collective::kAllreduce, 0);
  slot.receive = slot.entry.send = {99, 0, ~uint64_t{0}};
  EXPECT_TRUE(CheckCall(slot, 2, regions_).ok());
}

TEST_F(CheckCallTest, InPlaceMeansTheReceiveBuffer) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 3);
  slot.entry.flags = ring::kInPlace;
  slot.entry.send.region = 99;
  EXPECT_EQ(CheckCall(slot, 0, regions_)->post.send, data_ + 2000);
  slot.entry.collective = static_cast<uint8_t>(Collective::kReduce);
  EXPECT_EQ(CheckCall(slot, 2, regions_)->post.send, data_ + 2000);
  ExpectInvalid(slot, 0, "in place, but this rank has no result");
}

TEST_F(CheckCallTest, InlineMessagesLieInTheEntry) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 8);
  slot.entry.flags = ring::kSendInline;
  const absl::StatusOr<CheckedCall> call = CheckCall(slot, 0, regions_);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_TRUE(call->post.send_is_inline);
  EXPECT_EQ(call->post.send, slot.entry.payload);
  slot.entry.count = 9;
  ExpectInvalid(slot, 0, "inline message too long (bytes=72, limit=64)");
}

TEST_F(CheckCallTest, RefusesUnknownNumbers) {
  ring::DqSlot slot = Slot(Collective::kAllreduce, 1);
  slot.entry.type = emu::kAluTypeCount;
  ExpectInvalid(slot, 0, "unknown type (type=20, limit=19)");
  slot = Slot(Collective::kAllreduce, 1);
  slot.entry.op = emu::kAluOpCount;
  ExpectInvalid(slot, 0, "unknown operation");
  slot = Slot(Collective::kAllreduce, 1);
  slot.entry.collective = schedule::kCollectiveCount;
  ExpectInvalid(slot, 0, "unknown collective");
}

TEST_F(CheckCallTest, RefusesMessagesThatAreTooLong) {
  EXPECT_TRUE(CheckCall(Slot(Collective::kAllreduce, 8192), 0, regions_).ok());
  ExpectInvalid(Slot(Collective::kAllreduce, 8193), 0, "too long (count=8193, limit=8192)");
  ExpectInvalid(Slot(Collective::kAllreduce, uint64_t{1} << 61), 0, "too long");
}

TEST_F(CheckCallTest, WhateverStandsInAnEntryBuffersStayInside) {
  Prng prng(1);
  int passed = 0;
  for (int round = 0; round < 200000; ++round) {
    ring::DqSlot slot;
    uint64_t words[sizeof(slot) / 8];
    for (uint64_t& word : words) word = prng.Next() >> prng.Below(64);
    memcpy(&slot, words, sizeof(slot));
    slot.entry.collective = static_cast<uint8_t>(prng.Below(5));
    slot.entry.type = static_cast<uint8_t>(prng.Below(11));
    slot.entry.op = static_cast<uint8_t>(prng.Below(11));
    slot.entry.root = static_cast<uint32_t>(prng.Below(3));
    if (prng.Chance(0.9)) slot.entry.send.region = slot.receive.region = 0;
    const absl::StatusOr<CheckedCall> call = CheckCall(slot, 1, regions_);
    if (!call.ok()) continue;
    ++passed;
    const CallPost& post = call->post;
    const uint64_t bytes = post.arguments.bytes();
    ASSERT_LE(bytes, schedule::kMessageBytesMax);
    if (post.receive != nullptr) {
      ASSERT_GE(post.receive, data_);
      ASSERT_LE(post.receive + bytes, data_ + kDataBytes);
    }
    if (post.send_is_inline) {
      ASSERT_LE(bytes, ring::kInlineBytes);
    } else if (post.send != nullptr) {
      ASSERT_GE(post.send, data_);
      ASSERT_LE(post.send + bytes, data_ + kDataBytes);
    }
  }
  EXPECT_GT(passed, 1000);
}

}  // namespace
}  // namespace copse::daemon
