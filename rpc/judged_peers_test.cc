// SPDX-License-Identifier: Apache-2.0
#include "rpc/judged_peers.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace copse::rpc {
namespace {

constexpr absl::Time kNow = absl::FromUnixSeconds(1'000'000);

CheckedPeer Peer(const std::string& name) {
  return {.id = {.domain = "test", .role = "node", .name = name}, .ends = kNow + absl::Hours(1)};
}

TEST(JudgedPeersTest, APeerIsKeptForAShortWhile) {
  JudgedPeers peers;
  peers.Add("one", Peer("n1"), kNow, absl::InfiniteFuture());
  ASSERT_NE(peers.Find("one", kNow), nullptr);
  EXPECT_EQ(peers.Find("one", kNow)->id.name, "n1");
  EXPECT_EQ(peers.Find("one", kNow)->ends, Peer("n1").ends);
  EXPECT_EQ(peers.Find("another", kNow), nullptr);
  EXPECT_NE(peers.Find("one", kNow + JudgedPeers::kKept - absl::Nanoseconds(1)), nullptr);
  EXPECT_EQ(peers.Find("one", kNow + JudgedPeers::kKept), nullptr);
  EXPECT_EQ(peers.Find("one", kNow - absl::Nanoseconds(1)), nullptr) << "the clock was set back";
  peers.Clear();
  EXPECT_EQ(peers.Find("one", kNow), nullptr);
}

TEST(JudgedPeersTest, NoPeerOutlivesWhatItWasJudgedBy) {
  JudgedPeers peers;
  const absl::Time until = kNow + absl::Seconds(1);
  peers.Add("one", Peer("n1"), kNow, until);
  EXPECT_NE(peers.Find("one", until - absl::Nanoseconds(1)), nullptr);
  EXPECT_EQ(peers.Find("one", until), nullptr);
  peers.Add("one", Peer("n1"), until, absl::InfiniteFuture());
  EXPECT_NE(peers.Find("one", until), nullptr) << "it was judged anew";
}

TEST(JudgedPeersTest, ManyPeersAreNotKept) {
  JudgedPeers peers;
  for (size_t i = 0; i < 3 * JudgedPeers::kPeersMax; ++i) {
    peers.Add(absl::StrCat(i), Peer("n1"), kNow, absl::InfiniteFuture());
    EXPECT_LE(peers.size(), JudgedPeers::kPeersMax);
    EXPECT_NE(peers.Find(absl::StrCat(i), kNow), nullptr);
  }
}

}  // namespace
}  // namespace copse::rpc
