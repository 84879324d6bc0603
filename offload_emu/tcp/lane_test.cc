// SPDX-License-Identifier: Apache-2.0
//
// Tests a lane's numbers and acknowledgments; tcp_transport_test has the rest.
#include "offload_emu/tcp/lane.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "offload_emu/tcp/sealed_stream.h"
#include "offload_emu/tcp/testing/stream_pair.h"

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

  StreamPair streams_;
  BufferPool pool_{1024};
  Lane lane_{LaneKind::kShort, {.bytes_max = 100, .frames_max = 3}, false, &pool_};
};

TEST_F(LaneTest, HasRoomForFramesAndBytesThatAreNotAcknowledged) {
  ASSERT_TRUE(lane_.Attach(streams_.near.get(), 0));
  EXPECT_TRUE(lane_.HasRoom(100));
  EXPECT_FALSE(lane_.HasRoom(101));
  Queue(60);
  lane_.Pump();
  EXPECT_TRUE(lane_.HasRoom(40));
  EXPECT_FALSE(lane_.HasRoom(41));
  Queue(1);
  Queue(1);
  lane_.Pump();
  EXPECT_FALSE(lane_.HasRoom(0));
  EXPECT_TRUE(lane_.TakeAcknowledgment(1));
  EXPECT_TRUE(lane_.HasRoom(98));
  EXPECT_FALSE(lane_.HasRoom(99));
}

// Frames of another job must not wait behind all that one job may have outstanding.
TEST_F(LaneTest, HasRoomForOneFrameThatTheConnectionHasNotTaken) {
  Queue(1);
  EXPECT_TRUE(lane_.HasRoom(1));  // there is no connection yet
  ASSERT_TRUE(lane_.Attach(streams_.near.get(), 0));
  EXPECT_FALSE(lane_.HasRoom(1));
  lane_.Pump();
  EXPECT_TRUE(lane_.HasRoom(1));
  // Another connection takes what the lost one had taken.
  lane_.Detach();
  const StreamPair others;
  ASSERT_TRUE(lane_.Attach(others.near.get(), 0));
  EXPECT_FALSE(lane_.HasRoom(1));
  lane_.Pump();
  EXPECT_TRUE(lane_.HasRoom(1));
}

TEST_F(LaneTest, AcknowledgesWhatWasSentAndNothingElse) {
  ASSERT_TRUE(lane_.Attach(streams_.near.get(), 0));
  Queue(1);
  Queue(1);
  EXPECT_FALSE(lane_.TakeAcknowledgment(1));
  lane_.Pump();
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

TEST_F(LaneTest, HasOutputWhileAFrameOrAnAcknowledgmentIsDue) {
  Queue(1);
  EXPECT_FALSE(lane_.has_output());  // nowhere to go
  ASSERT_TRUE(lane_.Attach(streams_.near.get(), 0));
  EXPECT_TRUE(lane_.has_output());
  lane_.Pump();
  EXPECT_FALSE(lane_.has_output());
  lane_.Delivered(100);
  EXPECT_FALSE(lane_.has_output());
  lane_.Delivered(1 << 20);
  EXPECT_TRUE(lane_.has_output());
  lane_.Pump();
  EXPECT_FALSE(lane_.has_output());
}

TEST_F(LaneTest, AFrameThatIsTakenBackLeavesNoGap) {
  ASSERT_TRUE(lane_.Attach(streams_.near.get(), 0));
  Queue(60);
  lane_.Pump();
  Queue(40);
  lane_.Retract();
  EXPECT_EQ(lane_.queued(), 1u);
  EXPECT_TRUE(lane_.HasRoom(40));
}

TEST_F(LaneTest, NoConnectionGoesBackBehindWhatWasAcknowledged) {
  ASSERT_TRUE(lane_.Attach(streams_.near.get(), 0));
  Queue(1);
  Queue(1);
  lane_.Pump();
  EXPECT_TRUE(lane_.TakeAcknowledgment(1));
  EXPECT_FALSE(lane_.Attach(streams_.near.get(), 0));
  EXPECT_FALSE(lane_.Attach(streams_.near.get(), 3));
  EXPECT_TRUE(lane_.Attach(streams_.near.get(), 1));
}

// The memory of a frame is given back when it is acknowledged, and the connection writes long ones from there.
TEST_F(LaneTest, NobodyAcknowledgesWhatTheConnectionHasNotTaken) {
  Lane bulk(LaneKind::kBulk, {.bytes_max = size_t{64} << 20, .frames_max = 4096}, false, &pool_);
  ASSERT_TRUE(bulk.Attach(streams_.near.get(), 0));
  const std::vector<uint8_t> frame(60'000, 7);
  // More than the sockets take.
  while (streams_.near->lent() == 0) {
    bulk.Queue(frame, {}, 0);
    bulk.Pump();
  }
  EXPECT_FALSE(bulk.TakeAcknowledgment(bulk.queued()));
  const uint64_t taken = bulk.queued() - streams_.near->lent();
  EXPECT_TRUE(bulk.TakeAcknowledgment(taken));

  ReadBuffer buffer;
  uint64_t received = 0;
  while (received < bulk.queued()) {
    bulk.Pump();
    ASSERT_TRUE(!streams_.far->closed());
    streams_.far->Read(&buffer, [&](const WireHeader& header, absl::Span<const uint8_t> payload) {
      EXPECT_EQ(header.number, ++received);
      EXPECT_EQ(payload, absl::MakeConstSpan(frame));
      return true;
    });
  }
  EXPECT_EQ(streams_.near->lent(), 0u);
  EXPECT_TRUE(bulk.TakeAcknowledgment(bulk.queued()));
  EXPECT_FALSE(bulk.has_unacknowledged());
}

}  // namespace
}  // namespace copse::emu
