// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/connections.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "offload_emu/packet.h"
#include "sim/simulator.h"
#include "sim/virtual_network.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kLatency = absl::Microseconds(20);
constexpr absl::Duration kDownDelay = absl::Microseconds(50);

// A daemon's Connections, and what comes through them.
struct Side : emu::TransportSink {
  void OnFrame(absl::Span<const uint8_t>) override { ++frames; }
  void OnPeerDown(Incarnation, const absl::Status&) override { ++downs; }

  Incarnation self;
  std::string address;
  sim::NodeNumber node = 0;
  std::unique_ptr<Connections> connections;
  int frames = 0;
  int downs = 0;
};

// Two daemons that are connected; a has the lower incarnation.
class ConnectionsTest : public testing::Test {
 protected:
  ConnectionsTest() { Make(); }

  void Make() {
    simulator_ = std::make_unique<sim::Simulator>();
    network_ = std::make_unique<sim::VirtualNetwork>(
        simulator_.get(), sim::VirtualNetworkOptions{.link = {.latency = kLatency}, .down_delay = kDownDelay});
    for (Side* side : {&a_, &b_}) {
      side->frames = side->downs = 0;
      side->self = Incarnation(side == &a_ ? 1 : 2);
      side->node = network_->AddNode(side == &a_ ? "a" : "b", side->self, [side] {
        while (side->connections->Progress(side)) {
        }
      });
      side->address = network_->transport(side->node)->LocalAddress();
      side->connections =
          std::make_unique<Connections>(simulator_->clock(), network_->transport(side->node), side->self);
    }
    Use(a_, b_);
    Use(b_, a_);
  }

  void Use(Side& side, const Side& peer) { ASSERT_TRUE(side.connections->Connect({peer.self, peer.address}).ok()); }
  // A frame that is none of Connections' own.
  absl::Status Send(Side& side, const Side& peer) {
    return SendFrame(side, peer, {.kind = static_cast<uint8_t>(emu::FrameKind::kData)}, "");
  }
  absl::Status SendFrame(Side& side, const Side& peer, emu::FrameHeader header, const std::string& body) {
    header.version = 1;
    header.bytes = static_cast<uint32_t>(body.size());
    header.source_incarnation = side.self.value();
    header.destination_incarnation = peer.self.value();
    return side.connections->Send(peer.self,
                                  absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof(header)),
                                  absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(body.data()), body.size()));
  }
  // Time passes, and the daemons look after their connections every 250 ms.
  void Pass(absl::Duration duration) {
    const absl::Time end = simulator_->Now() + duration;
    while (simulator_->Now() < end) {
      PassQuietly(std::min(absl::Milliseconds(250), end - simulator_->Now()));
      if (network_->running(a_.node)) a_.connections->Tick();
      if (network_->running(b_.node)) b_.connections->Tick();
    }
  }
  void PassQuietly(absl::Duration duration) {
    simulator_->RunUntil([] { return false; }, simulator_->Now() + duration);
  }

  std::unique_ptr<sim::Simulator> simulator_;
  std::unique_ptr<sim::VirtualNetwork> network_;
  Side a_, b_;
};

TEST_F(ConnectionsTest, WhatNeitherUsesIsClosedAndIsNobodysDeath) {
  a_.connections->Release(b_.self);
  Pass(absl::Seconds(1));
  EXPECT_TRUE(Send(a_, b_).ok()) << "b uses it";
  b_.connections->Release(a_.self);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(absl::IsUnavailable(Send(a_, b_)));
  EXPECT_TRUE(absl::IsUnavailable(Send(b_, a_)));
  EXPECT_EQ(a_.downs + b_.downs, 0);
  EXPECT_FALSE(a_.connections->waiting() || b_.connections->waiting());
}

TEST_F(ConnectionsTest, WhatOneSideUsesStays) {
  for (Side* idle : {&a_, &b_}) {
    Make();
    Side& other = idle == &a_ ? b_ : a_;
    idle->connections->Release(other.self);
    Pass(absl::Minutes(1));
    ASSERT_TRUE(Send(other, *idle).ok());
    ASSERT_TRUE(Send(*idle, other).ok());
    Pass(absl::Seconds(1));
    EXPECT_EQ(idle->frames, 1);
    EXPECT_EQ(other.frames, 1);
    EXPECT_EQ(a_.downs + b_.downs, 0);
  }
}

// Both let it go; both need it again, each at every moment of the agreement.
TEST_F(ConnectionsTest, WhatIsNeededAgainWhileItCloses) {
  constexpr int kMoments = 30;
  constexpr absl::Duration kStep = absl::Microseconds(7);
  for (int a_at = 0; a_at < kMoments; ++a_at) {
    for (int b_at = 0; b_at < kMoments; ++b_at) {
      SCOPED_TRACE(testing::Message() << "a at " << a_at << ", b at " << b_at);
      Make();
      b_.connections->Release(a_.self);
      a_.connections->Release(b_.self);
      bool a_sent = false, b_sent = false;
      for (int i = 0; i < 3 * kMoments; ++i) {
        if (i == a_at) Use(a_, b_);
        if (i == b_at) Use(b_, a_);
        // As the engine does: again and again while there is no room.
        if (i >= a_at && !a_sent) a_sent = Send(a_, b_).ok();
        if (i >= b_at && !b_sent) b_sent = Send(b_, a_).ok();
        PassQuietly(kStep);
      }
      PassQuietly(absl::Milliseconds(1));
      ASSERT_TRUE(a_sent && b_sent);
      ASSERT_EQ(a_.downs + b_.downs, 0);
      ASSERT_EQ(a_.frames, 1);
      ASSERT_EQ(b_.frames, 1);
    }
  }
}

TEST_F(ConnectionsTest, WhoeverNeedsItTwiceWhileItMayCloseWaitsForTheReplyBothTimes) {
  b_.connections->Release(a_.self);
  a_.connections->Release(b_.self);
  Use(a_, b_);
  EXPECT_TRUE(absl::IsResourceExhausted(Send(a_, b_)));
  Use(a_, b_);
  EXPECT_TRUE(absl::IsResourceExhausted(Send(a_, b_))) << "b may be closing it";
  Use(b_, a_);
  PassQuietly(absl::Milliseconds(1));
  Use(a_, b_);
  EXPECT_TRUE(Send(a_, b_).ok());
  EXPECT_FALSE(a_.connections->waiting());
}

TEST_F(ConnectionsTest, DeathIsStillDeath) {
  network_->Crash(b_.node);
  PassQuietly(absl::Milliseconds(1));
  EXPECT_EQ(a_.downs, 1) << "in use";
  Make();
  b_.connections->Release(a_.self);
  a_.connections->Release(b_.self);
  Use(a_, b_);
  EXPECT_TRUE(absl::IsResourceExhausted(Send(a_, b_))) << "b may be closing it";
  network_->Crash(b_.node);
  PassQuietly(absl::Milliseconds(1));
  EXPECT_EQ(a_.downs, 1) << "asked, and in use again";
}

TEST_F(ConnectionsTest, APeerThatDoesNotAnswerIsNotWaitedForForEver) {
  network_->Pause(b_.node);
  a_.connections->Release(b_.self);
  Use(a_, b_);
  EXPECT_TRUE(absl::IsResourceExhausted(Send(a_, b_)));
  Pass(absl::Seconds(6));
  EXPECT_TRUE(Send(a_, b_).ok()) << "it may not know the question";
  a_.connections->Release(b_.self);
  Pass(absl::Seconds(20));
  EXPECT_TRUE(absl::IsUnavailable(Send(a_, b_)));
  EXPECT_FALSE(a_.connections->waiting());
  EXPECT_EQ(a_.downs, 0);
}

TEST_F(ConnectionsTest, WhoHasAgreedClosesEvenIfNobodyTellsItThatThePeerHas) {
  b_.connections->Release(a_.self);
  a_.connections->Release(b_.self);
  PassQuietly(1.5 * kLatency);
  network_->Cut(a_.node, b_.node);  // b has agreed, and a does not hear it
  Pass(absl::Seconds(4));
  EXPECT_EQ(b_.connections->size(), 0u);
  Pass(absl::Seconds(10));
  EXPECT_EQ(a_.connections->size(), 0u);
  EXPECT_EQ(a_.downs + b_.downs, 0);
}

TEST_F(ConnectionsTest, WhoIsNeverAskedAsksAtLast) {
  network_->Cut(a_.node, b_.node);
  a_.connections->Disconnect(b_.self);  // it has given b up, and b is not told
  network_->Heal(a_.node, b_.node);
  b_.connections->Release(a_.self);
  Pass(absl::Seconds(60));
  EXPECT_EQ(b_.connections->size(), 0u);
  EXPECT_FALSE(b_.connections->waiting());
}

TEST_F(ConnectionsTest, AnswersToOtherQuestionsMeanNothing) {
  a_.connections->Release(b_.self);
  const EncodedPeerMessage answer = EncodePeerMessage(CloseReplyMessage{.number = 77, .agreed = true});
  const emu::FrameHeader header{.kind = static_cast<uint8_t>(emu::FrameKind::kControl), .count = answer.type};
  ASSERT_TRUE(SendFrame(b_, a_, header, answer.body).ok());
  PassQuietly(absl::Milliseconds(1));
  EXPECT_TRUE(Send(a_, b_).ok());
  EXPECT_EQ(a_.frames, 0) << "it is not the engine's";
}

}  // namespace
}  // namespace copse::daemon
