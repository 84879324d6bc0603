// SPDX-License-Identifier: Apache-2.0
//
// Tests a lane's numbers and acknowledgments without a connection; tcp_transport_test has the rest.
#include "offload_emu/tcp/lane.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace copse::emu {
namespace {

using Verdict = Lane::Verdict;

WireHeader FrameHeaderOf(uint64_t number, uint64_t received = 0) {
  WireHeader header{};
  header.number = number;
  header.received = received;
  return header;
}

class LaneTest : public testing::Test {
 protected:
  void Queue(size_t bytes) { lane_.Queue(std::vector<uint8_t>(bytes), {}, 0); }

  Lane lane_{LaneKind::kShort, {.bytes_max = 100, .frames_max = 3}, false};
};

TEST_F(LaneTest, HasRoomForFramesAndBytesThatAreNotAcknowledged) {
  EXPECT_TRUE(lane_.HasRoom(100));
  EXPECT_FALSE(lane_.HasRoom(101));
  Queue(60);
  EXPECT_TRUE(lane_.HasRoom(40));
  EXPECT_FALSE(lane_.HasRoom(41));
  Queue(1);
  Queue(1);
  EXPECT_FALSE(lane_.HasRoom(0));
  EXPECT_TRUE(lane_.TakeAcknowledgment(1));
  EXPECT_TRUE(lane_.HasRoom(98));
  EXPECT_FALSE(lane_.HasRoom(99));
}

TEST_F(LaneTest, AcknowledgesWhatWasSentAndNothingElse) {
  Queue(1);
  Queue(1);
  EXPECT_FALSE(lane_.TakeAcknowledgment(3));
  EXPECT_TRUE(lane_.TakeAcknowledgment(2));
  EXPECT_TRUE(lane_.TakeAcknowledgment(1));  // an older one
  EXPECT_FALSE(lane_.has_unacknowledged());
  EXPECT_EQ(lane_.Judge(FrameHeaderOf(1, 3)), Verdict::kWrong);
}

TEST_F(LaneTest, TakesEachFrameOnceAndInOrder) {
  EXPECT_EQ(lane_.Judge(FrameHeaderOf(0)), Verdict::kWrong);
  EXPECT_EQ(lane_.Judge(FrameHeaderOf(2)), Verdict::kWrong);
  EXPECT_EQ(lane_.Judge(FrameHeaderOf(1)), Verdict::kNext);
  lane_.Delivered(10);
  EXPECT_EQ(lane_.received(), 1u);
  EXPECT_EQ(lane_.Judge(FrameHeaderOf(1)), Verdict::kAgain);
  EXPECT_EQ(lane_.Judge(FrameHeaderOf(2)), Verdict::kNext);
}

TEST_F(LaneTest, AFrameThatIsTakenBackLeavesNoGap) {
  Queue(60);
  Queue(40);
  lane_.Retract();
  EXPECT_EQ(lane_.queued(), 1u);
  EXPECT_TRUE(lane_.HasRoom(40));
}

TEST_F(LaneTest, NoConnectionGoesBackBehindWhatWasAcknowledged) {
  Queue(1);
  Queue(1);
  EXPECT_TRUE(lane_.TakeAcknowledgment(1));
  EXPECT_FALSE(lane_.Attach(nullptr, 0));
  EXPECT_FALSE(lane_.Attach(nullptr, 3));
  EXPECT_TRUE(lane_.Attach(nullptr, 1));
}

}  // namespace
}  // namespace copse::emu
