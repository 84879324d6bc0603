// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/frame_receiver.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"
#include "offload_emu/tcp/lane.h"
#include "offload_emu/tcp/socket_address.h"

namespace copse::emu {
namespace {

constexpr Incarnation kPeer(7);

// Notes the `count` of each frame, and takes frames at once if `takes`.
class CountingSink : public TransportSink {
 public:
  void OnFrame(absl::Span<const uint8_t> frame) override { late.push_back(CountIn(frame)); }
  bool TakeFrame(absl::Span<const uint8_t> frame) override {
    if (takes) at_once.push_back(CountIn(frame));
    return takes;
  }
  void OnPeerDown(Incarnation, const absl::Status&) override { FAIL(); }

  bool takes = true;
  std::vector<int> at_once, late;

 private:
  static int CountIn(absl::Span<const uint8_t> frame) {
    FrameHeader header;
    std::memcpy(&header, frame.data(), sizeof(header));
    return header.count;
  }
};

class FrameReceiverTest : public testing::Test {
 protected:
  FrameReceiverTest() {
    short_.lane = LaneKind::kShort;
    bulk_.lane = LaneKind::kBulk;
    bulk_.id = 12;
    short_.peer = bulk_.peer = &peer_;
    peer_.LaneOf(LaneKind::kBulk).attached = &bulk_;
    receiver_.Begin(&sink_);
  }
  bool Take(TcpConnection* connection, uint64_t number, uint16_t count, uint64_t after = 0, Incarnation from = kPeer) {
    FrameHeader frame{};
    frame.count = count;
    frame.source_incarnation = from.value();
    WireHeader header{};
    header.number = number;
    header.after = after;
    return receiver_.Take(connection, header,
                          absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&frame), sizeof(frame)));
  }

  BufferPool pool_{1};
  TcpPeer peer_{.address = {.incarnation = kPeer},
                .socket = *SocketAddress::Parse("127.0.0.1:1"),
                .lanes = {{.lane = Lane(LaneKind::kShort, {}, false, &pool_)},
                          {.lane = Lane(LaneKind::kBulk, {}, false, &pool_)}}};
  TcpConnection short_, bulk_;
  std::vector<uint64_t> released_;
  uint64_t dropped_ = 0;
  CountingSink sink_;
  FrameReceiver receiver_{&released_, &dropped_};
};

TEST_F(FrameReceiverTest, AFrameWaitsForThatOfTheOtherLane) {
  EXPECT_TRUE(Take(&short_, 1, 1));
  EXPECT_FALSE(Take(&bulk_, 1, 3, /*after=*/2)) << "the input of its connection waits";
  EXPECT_TRUE(released_.empty());
  EXPECT_EQ(sink_.at_once, std::vector<int>{1});
  EXPECT_TRUE(Take(&short_, 2, 2));
  EXPECT_EQ(sink_.at_once, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(released_, std::vector<uint64_t>{12});
}

TEST_F(FrameReceiverTest, AFrameThatComesAgainIsTakenOnce) {
  EXPECT_TRUE(Take(&short_, 1, 1));
  EXPECT_TRUE(Take(&short_, 1, 1));
  EXPECT_EQ(sink_.at_once, std::vector<int>{1});
}

TEST_F(FrameReceiverTest, FramesOfAnotherSenderAreDroppedAndCounted) {
  EXPECT_TRUE(Take(&short_, 1, 1, 0, Incarnation(8)));
  EXPECT_TRUE(Take(&short_, 2, 2));
  EXPECT_EQ(dropped_, 1u);
  EXPECT_EQ(sink_.at_once, std::vector<int>{2});
}

TEST_F(FrameReceiverTest, WhatTheSinkDoesNotTakeAtOnceFollowsInOrder) {
  sink_.takes = false;
  EXPECT_TRUE(Take(&short_, 1, 1));
  EXPECT_TRUE(Take(&short_, 2, 2));
  EXPECT_TRUE(sink_.late.empty());
  receiver_.End();
  EXPECT_EQ(sink_.late, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace copse::emu
