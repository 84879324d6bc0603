// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/departures.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

constexpr Incarnation kPeer(1), kOther(2);
const absl::Time kStart = absl::UnixEpoch();

TEST(DeparturesTest, LastMessageAboutATeamCounts) {
  Departures departures;
  EXPECT_EQ(departures.due(), absl::InfiniteFuture());
  departures.Add(kPeer, {.team = TeamId(7), .calls = CallSeq(2), .rank = Rank(1)}, kStart);
  departures.Add(kPeer, {.team = TeamId(7), .calls = CallSeq(1), .rank = Rank(0), .all = true},
                 kStart + absl::Milliseconds(1));
  departures.Add(kPeer, {.team = TeamId(8)}, kStart + absl::Milliseconds(2));
  EXPECT_EQ(departures.due(), kStart + Departures::kDelay);
  const Departures::ByPeerAndTeam taken = departures.Take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken.at({kPeer, TeamId(7)}).calls, CallSeq(1));
  EXPECT_TRUE(taken.at({kPeer, TeamId(7)}).all);
  EXPECT_EQ(departures.due(), absl::InfiniteFuture());
}

TEST(DeparturesTest, PeerThatHasLeftTheTeamIsNotNotified) {
  Departures departures;
  departures.Add(kPeer, {.team = TeamId(7), .all = true}, kStart);
  departures.Add(kOther, {.team = TeamId(7), .all = true}, kStart);
  departures.OnLeft(kPeer, {.team = TeamId(7), .all = false});
  departures.OnLeft(kPeer, {.team = TeamId(8), .all = true});
  departures.OnLeft(kPeer, {.team = TeamId(7), .all = true});
  EXPECT_NE(departures.due(), absl::InfiniteFuture());
  departures.OnLeft(kOther, {.team = TeamId(7), .all = true});
  EXPECT_EQ(departures.due(), absl::InfiniteFuture());
  EXPECT_TRUE(departures.Take().empty());
}

}  // namespace
}  // namespace copse::daemon
