// SPDX-License-Identifier: Apache-2.0
#include "daemon/shm/held_posts.h"

#include <vector>

#include "collectives/collective.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

ring::DqSlot CallOf(uint32_t team, Collective collective) {
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
  slot.entry.collective = static_cast<uint8_t>(collective);
  slot.entry.team = team;
  return slot;
}

class HeldPostsTest : public ::testing::Test {
 protected:
  // Posts a call, or holds it back.
  bool Post(uint32_t team, Collective collective) {
    const ring::DqSlot slot = CallOf(team, collective);
    const bool waits = held_.MustWait(slot.entry);
    if (waits) held_.Hold(number_, slot);
    ++number_;
    return !waits;
  }
  // Returns the teams of the calls that are let go.
  std::vector<uint32_t> Release(uint32_t most = 100) {
    std::vector<uint32_t> teams;
    EXPECT_LE(held_.Release(most, [&](const ring::DqSlot& slot) { teams.push_back(slot.entry.team); }), most);
    return teams;
  }

  HeldPosts held_{100};
  uint64_t number_ = 0;
};

TEST_F(HeldPostsTest, OneCallOfEachTeamMayExceedTheLimit) {
  held_.OnCall(1, 100);
  EXPECT_TRUE(Post(1, Collective::kAllreduce));
  EXPECT_FALSE(Post(1, Collective::kAlltoallv));
  EXPECT_TRUE(Post(2, Collective::kAlltoallv));
}

TEST_F(HeldPostsTest, ACallThatIsHeldBackDelaysItsTeamAndNoOther) {
  held_.OnCall(1, 100);
  EXPECT_EQ(held_.FirstNumber(99), 99u);
  EXPECT_FALSE(Post(1, Collective::kAlltoallv));
  EXPECT_FALSE(Post(1, Collective::kBarrier));
  EXPECT_TRUE(Post(2, Collective::kBarrier));
  EXPECT_EQ(held_.count(), 2u);
  EXPECT_EQ(held_.FirstNumber(99), 0u);
  EXPECT_FALSE(held_.may_go());
  held_.OnCallOver(1, 100);
  EXPECT_TRUE(held_.may_go());
  EXPECT_EQ(Release(), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(held_.count(), 0u);
}

TEST_F(HeldPostsTest, LetsGoNoMoreThanItIsAskedFor) {
  held_.OnCall(1, 100);
  Post(1, Collective::kAlltoallv);
  Post(1, Collective::kBarrier);
  Post(1, Collective::kBarrier);
  held_.OnCallOver(1, 100);
  EXPECT_EQ(Release(2).size(), 2u);
  EXPECT_TRUE(held_.may_go());
  EXPECT_EQ(held_.FirstNumber(99), 2u);
  EXPECT_EQ(Release(2).size(), 1u);
  EXPECT_FALSE(held_.may_go());
}

TEST_F(HeldPostsTest, CallsWithoutListsDoNotCount) {
  held_.OnCall(1, 0);
  held_.OnCallOver(1, 0);
  EXPECT_FALSE(held_.may_go());
  EXPECT_TRUE(Post(1, Collective::kAlltoallv));
}

}  // namespace
}  // namespace copse::daemon
