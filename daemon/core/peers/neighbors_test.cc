// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/neighbors.h"

#include "gtest/gtest.h"
#include "sim/simulator.h"
#include "sim/virtual_network.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

class NeighborTableTest : public testing::Test {
 protected:
  NeighborTableTest() {
    const sim::NodeNumber self = network_.AddNode("self", Incarnation(1), [] {});
    const sim::NodeNumber peer = network_.AddNode("peer", Incarnation(2), [] {});
    node_ = {"peer", Incarnation(2), network_.transport(peer)->LocalAddress()};
    connections_ = std::make_unique<Connections>(simulator_.clock(), network_.transport(self), Incarnation(1));
    table_ = std::make_unique<NeighborTable>(connections_.get());
    transport_ = network_.transport(self);
  }
  bool Connected() { return transport_->Send(Incarnation(2), {}, {}).ok(); }

  sim::Simulator simulator_;
  sim::VirtualNetwork network_{&simulator_, {}};
  schedule::TeamNode node_;
  emu::Transport* transport_ = nullptr;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<NeighborTable> table_;
  const absl::Time start_ = absl::UnixEpoch();
};

TEST_F(NeighborTableTest, ConnectsOnFirstUseAndLetsGoAWhileAfterTheLast) {
  EXPECT_FALSE(Connected());
  ASSERT_TRUE(table_->Acquire(node_, start_).ok());
  ASSERT_TRUE(table_->Acquire(node_, start_).ok());
  EXPECT_TRUE(Connected());
  table_->Release(Incarnation(2), start_);
  table_->DropUnused(start_ + absl::Hours(1));
  EXPECT_TRUE(Connected()) << "one user is left";
  table_->Release(Incarnation(2), start_);
  table_->DropUnused(start_ + kSecond);
  EXPECT_TRUE(Connected()) << "what was sent last must still leave";
  EXPECT_FALSE(connections_->waiting());
  table_->DropUnused(start_ + 3 * kSecond);
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_TRUE(connections_->waiting()) << "the peer is asked";
}

TEST_F(NeighborTableTest, HeartbeatsAreDueOnceAnInterval) {
  ASSERT_TRUE(table_->Acquire(node_, start_).ok());
  EXPECT_EQ(table_->DueHeartbeats(start_, kSecond).size(), 1u);
  EXPECT_EQ(table_->DueHeartbeats(start_ + kSecond / 2, kSecond).size(), 0u);
  EXPECT_EQ(table_->DueHeartbeats(start_ + kSecond, kSecond).size(), 1u);
  table_->Release(Incarnation(2), start_ + kSecond);
  EXPECT_EQ(table_->DueHeartbeats(start_ + 9 * kSecond, kSecond).size(), 0u) << "not in use";
}

TEST_F(NeighborTableTest, SilenceCountsFromWhatWasHeardLast) {
  ASSERT_TRUE(table_->Acquire(node_, start_).ok());
  EXPECT_TRUE(table_->Silent(start_ + 9 * kSecond, 10 * kSecond).empty());
  EXPECT_EQ(table_->Silent(start_ + 10 * kSecond, 10 * kSecond).size(), 1u);
  table_->OnReceived(Incarnation(2), start_ + 5 * kSecond);
  EXPECT_TRUE(table_->Silent(start_ + 14 * kSecond, 10 * kSecond).empty());
  // This daemon itself stood still for a minute: that is not the neighbor's silence.
  table_->AllowFor(absl::Minutes(1), start_ + 66 * kSecond);
  EXPECT_TRUE(table_->Silent(start_ + 70 * kSecond, 10 * kSecond).empty());
  EXPECT_EQ(table_->Silent(start_ + 75 * kSecond, 10 * kSecond).size(), 1u);
}

TEST_F(NeighborTableTest, AGuestKeepsTheConnectionButNeitherHasHeartbeatsNorIsSilent) {
  EXPECT_FALSE(table_->OnlyGuest(Incarnation(2)));
  ASSERT_TRUE(table_->AcquireGuest(node_, start_).ok());
  ASSERT_TRUE(table_->AcquireGuest(node_, start_).ok());
  EXPECT_TRUE(Connected());
  EXPECT_TRUE(table_->OnlyGuest(Incarnation(2)));
  EXPECT_FALSE(table_->InUse(Incarnation(2)));
  EXPECT_TRUE(table_->DueHeartbeats(start_ + kSecond, kSecond).empty());
  EXPECT_TRUE(table_->Silent(start_ + absl::Hours(1), kSecond).empty());
  EXPECT_EQ(table_->ReceivedSince(start_), 0u);
  table_->ReleaseGuest(Incarnation(2), start_);
  table_->DropUnused(start_ + absl::Hours(1));
  EXPECT_EQ(table_->size(), 1u) << "one guest is left";

  ASSERT_TRUE(table_->Acquire(node_, start_ + kSecond).ok());
  EXPECT_FALSE(table_->OnlyGuest(Incarnation(2)));
  EXPECT_EQ(table_->ReceivedSince(start_ + kSecond), 1u);
  EXPECT_EQ(table_->ReceivedSince(start_ + 2 * kSecond), 0u);
  table_->Release(Incarnation(2), start_ + kSecond);
  EXPECT_TRUE(table_->OnlyGuest(Incarnation(2)));
  table_->ReleaseGuest(Incarnation(2), start_ + 4 * kSecond);
  EXPECT_FALSE(table_->OnlyGuest(Incarnation(2)));
  table_->ReleaseGuest(Incarnation(2), start_ + absl::Hours(1));  // none is left
  table_->DropUnused(start_ + 5 * kSecond);
  EXPECT_EQ(table_->size(), 1u) << "it was used a second ago";
  table_->DropUnused(start_ + 6 * kSecond);
  EXPECT_EQ(table_->size(), 0u);
}

TEST_F(NeighborTableTest, WhatIsHeardWhileThisDaemonStoodStillIsNotLaterThanNow) {
  ASSERT_TRUE(table_->Acquire(node_, start_).ok());
  table_->OnReceived(Incarnation(2), start_ + 59 * kSecond);
  table_->AllowFor(absl::Minutes(1), start_ + absl::Minutes(1));
  EXPECT_EQ(table_->ReceivedSince(start_ + absl::Minutes(1)), 1u);
  EXPECT_EQ(table_->ReceivedSince(start_ + absl::Minutes(1) + absl::Nanoseconds(1)), 0u);
  EXPECT_EQ(table_->Silent(start_ + absl::Minutes(1) + kSecond, kSecond).size(), 1u);
}

TEST_F(NeighborTableTest, LostIsForgottenThoughItsUsersReleaseItLater) {
  ASSERT_TRUE(table_->Acquire(node_, start_).ok());
  table_->Lost(Incarnation(2));
  EXPECT_FALSE(Connected());
  EXPECT_TRUE(table_->Silent(start_ + absl::Hours(1), kSecond).empty());
  table_->Release(Incarnation(2), start_);
  EXPECT_EQ(table_->size(), 0u);
}

}  // namespace
}  // namespace copse::daemon
