// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/frames/frame_queues.h"

#include <vector>

#include "gtest/gtest.h"

namespace copse::emu {
namespace {

class FrameQueuesTest : public ::testing::Test {
 protected:
  ~FrameQueuesTest() override { queues_.Clear(&pool_); }

  // Adds frames whose `count` names them.
  void Add(const Sender& sender, std::vector<uint16_t> names, uint32_t bytes = kFrameBytesMax, bool is_long = true) {
    for (const uint16_t name : names) queues_.Add(&queues_.For(sender, is_long), {.bytes = bytes, .count = name});
  }
  // Returns the names of the frames that are sent; at most `room` are taken.
  std::vector<uint16_t> Send(size_t room = 100) {
    std::vector<uint16_t> names;
    EXPECT_TRUE(queues_
                    .SendInTurns([&](QueuedFrame* frame) {
                      if (names.size() == room) return absl::ResourceExhaustedError("full");
                      names.push_back(frame->count);
                      return absl::OkStatus();
                    })
                    .ok());
    return names;
  }

  BufferPool pool_{1 << 20};
  FrameQueues queues_;
};

TEST_F(FrameQueuesTest, QueuesTakeTurnsByWeight) {
  Add({.job = 1}, {10, 11, 12});
  Add({.job = 2, .weight = 2}, {20, 21, 22});
  EXPECT_EQ(Send(), (std::vector<uint16_t>{10, 20, 21, 11, 22, 12}));
  EXPECT_EQ(queues_.frame_count(), 0u);
}

TEST_F(FrameQueuesTest, WhatAQueueDidNotUseOfATurnIsLostOnceItIsEmpty) {
  Add({.job = 1, .weight = 2}, {10});
  EXPECT_EQ(Send(), (std::vector<uint16_t>{10}));
  Add({.job = 1, .weight = 2}, {11, 12, 13});
  Add({.job = 2}, {20, 21});
  EXPECT_EQ(Send(), (std::vector<uint16_t>{11, 12, 20, 13, 21}));
}

TEST_F(FrameQueuesTest, WhatIsRefusedStaysAndGoesOnWhereItStopped) {
  Add({.job = 1}, {10, 11});
  Add({.job = 2}, {20, 21});
  EXPECT_EQ(Send(1), (std::vector<uint16_t>{10}));
  EXPECT_EQ(queues_.frame_count(), 3u);
  EXPECT_EQ(Send(2).size(), 2u);
  EXPECT_EQ(Send().size(), 1u);
}

TEST_F(FrameQueuesTest, AnErrorEndsTheTurns) {
  Add({.job = 1}, {10});
  Add({.job = 2}, {20});
  int calls = 0;
  const absl::Status status = queues_.SendInTurns([&](QueuedFrame*) {
    ++calls;
    return absl::UnavailableError("gone");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(calls, 1);
}

TEST_F(FrameQueuesTest, AJobWithLessThanItsPartGoesOn) {
  std::vector<uint16_t> many(FrameQueues::kFramesMax, 7);
  Add({.job = 1}, many);
  EXPECT_TRUE(queues_.full(1, true));
  EXPECT_TRUE(queues_.has_full());
  EXPECT_FALSE(queues_.full(1, false));
  EXPECT_FALSE(queues_.full(2, true));
  Add({.job = 2}, {20});
  EXPECT_FALSE(queues_.full(2, true));
  EXPECT_TRUE(queues_.full(1, true));
  Send();
  EXPECT_FALSE(queues_.has_full());
}

TEST_F(FrameQueuesTest, AmongManyJobsEachHasOneFrame) {
  for (uint32_t job = 1; job <= FrameQueues::kFramesMax; ++job) Add({.job = job}, {1});
  for (uint32_t job = 1; job <= FrameQueues::kFramesMax; ++job) EXPECT_TRUE(queues_.full(job, true)) << job;
  EXPECT_FALSE(queues_.full(FrameQueues::kFramesMax + 1, true));
}

TEST_F(FrameQueuesTest, FramesAreNumberedInTheOrderOfTheirBeginning) {
  Add({.job = 1}, {10});
  const uint64_t between = queues_.NextNumber();
  EXPECT_FALSE(queues_.AllAfter(between));
  Add({.job = 2}, {20});
  EXPECT_FALSE(queues_.AllAfter(between));
  queues_.RemoveLast(&queues_.At(1, true));
  EXPECT_TRUE(queues_.AllAfter(between));
  EXPECT_EQ(queues_.frame_count(), 1u);
}

}  // namespace
}  // namespace copse::emu
