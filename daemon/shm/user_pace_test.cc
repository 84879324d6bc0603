// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/user_pace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/fake_clock.h"

namespace copse::daemon {
namespace {

constexpr uint32_t kCaller = 1000, kBusy = 1001;

class UserPaceTest : public ::testing::Test {
 protected:
  void Run(uint32_t uid, absl::Duration takes) {
    const UserPace::Errand errand(&pace_, uid);
    clock_.Advance(takes);
  }
  // An errand that takes so long, and says that it ran.
  void Keep(uint32_t uid, int name, absl::Duration takes = absl::Microseconds(100)) {
    pace_.Keep(uid, this, [this, uid, name, takes] {
      Run(uid, takes);
      ran_.push_back(name);
    });
  }
  void Post(uint32_t uid) { pace_.NotePosts(uid, clock_.Now()); }
  void Advance(absl::Duration by) {
    clock_.Advance(by);
    Post(kCaller);
  }

  FakeClock clock_;
  UserPace pace_{&clock_};
  std::vector<int> ran_;
};

TEST_F(UserPaceTest, AnErrandBesideAnothersCallsIsFollowedByAPause) {
  Post(kCaller);
  EXPECT_TRUE(pace_.MayBegin(kBusy));
  Run(kBusy, absl::Microseconds(100));
  EXPECT_FALSE(pace_.MayBegin(kBusy));
  EXPECT_TRUE(pace_.MayBegin(kCaller));
  Advance(UserPace::kPausePerErrand * absl::Microseconds(100));
  EXPECT_TRUE(pace_.MayBegin(kBusy));
}

TEST_F(UserPaceTest, NobodyWaitsForOwnCallsOrAlone) {
  Run(kBusy, absl::Milliseconds(1));
  EXPECT_TRUE(pace_.MayBegin(kBusy));
  Post(kBusy);
  Run(kBusy, absl::Milliseconds(1));
  EXPECT_TRUE(pace_.MayBegin(kBusy));
}

TEST_F(UserPaceTest, CallsOfTwoUsersMakeBothWait) {
  for (const uint32_t uid : {kBusy, kCaller, kBusy}) Post(uid);
  for (const uint32_t uid : {kCaller, kBusy}) Run(uid, absl::Microseconds(10));
  EXPECT_FALSE(pace_.MayBegin(kCaller));
  EXPECT_FALSE(pace_.MayBegin(kBusy));
}

TEST_F(UserPaceTest, WhatWaitsRunsInItsOrderAndInItsPartOfTheTime) {
  Post(kCaller);
  Run(kBusy, absl::Microseconds(100));
  for (const int name : {1, 2, 3}) Keep(kBusy, name);
  EXPECT_EQ(pace_.waiting(kBusy), 3u);
  EXPECT_FALSE(pace_.RunDue());
  Advance(pace_.NextDue() - clock_.Now());
  EXPECT_TRUE(pace_.RunDue());
  EXPECT_EQ(ran_, std::vector<int>({1}));
  EXPECT_FALSE(pace_.MayBegin(kBusy)) << "it would come before what waits";
  Advance(pace_.NextDue() - clock_.Now());
  EXPECT_TRUE(pace_.RunDue());
  EXPECT_EQ(ran_, std::vector<int>({1, 2}));
  EXPECT_EQ(pace_.kept(), 3u);
}

TEST_F(UserPaceTest, APauseEndsWithTheOthersCalls) {
  Post(kCaller);
  Run(kBusy, absl::Milliseconds(5));
  Keep(kBusy, 1);
  Keep(kBusy, 2);
  clock_.Advance(UserPace::kRecent);
  EXPECT_FALSE(pace_.MayBegin(kBusy)) << "it would come before what waits";
  EXPECT_TRUE(pace_.RunDue());
  EXPECT_EQ(ran_, std::vector<int>({1, 2}));
  EXPECT_TRUE(pace_.MayBegin(kBusy));
  EXPECT_EQ(pace_.NextDue(), absl::InfiniteFuture());
}

TEST_F(UserPaceTest, NoPauseIsLongerThanItsLimit) {
  Post(kCaller);
  Run(kBusy, absl::Seconds(1));
  Keep(kBusy, 1);
  EXPECT_EQ(pace_.NextDue(), clock_.Now() + UserPace::kPauseMax);
}

TEST_F(UserPaceTest, WhatIsForgottenNeverRuns) {
  Post(kCaller);
  Run(kBusy, absl::Microseconds(100));
  Keep(kBusy, 1);
  const int other = 0;
  pace_.Keep(kBusy, &other, [this] { ran_.push_back(2); });
  pace_.Forget(kBusy, this);
  clock_.Advance(UserPace::kPauseMax);
  EXPECT_TRUE(pace_.RunDue());
  EXPECT_EQ(ran_, std::vector<int>({2}));
}

TEST_F(UserPaceTest, OneOfManyUsersIsRememberedWhileItMustWait) {
  Post(kCaller);
  Run(kBusy, absl::Milliseconds(1));
  for (uint32_t uid = 2000; uid < 2200; ++uid) Run(uid, absl::Microseconds(1));
  EXPECT_FALSE(pace_.MayBegin(kBusy));
}

}  // namespace
}  // namespace copse::daemon
