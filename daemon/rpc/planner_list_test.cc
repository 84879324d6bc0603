// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/planner_list.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

constexpr ReconnectPauseOptions kPause = {absl::Seconds(1), absl::Seconds(5)};
constexpr absl::Duration kNever = absl::ZeroDuration();  // the planner never accepted the daemon

TEST(PlannerListTest, OnePlannerIsTriedAgainAfterGrowingPauses) {
  PlannerList list({"a:1"}, kPause, 1);
  absl::Duration longest;
  for (int i = 0; i < 100; ++i) {
    longest = std::max(longest, list.Ended(kNever, false, ""));
    EXPECT_EQ(list.current(), "a:1");
  }
  EXPECT_GT(longest, absl::Seconds(2));
  EXPECT_LE(longest, absl::Seconds(5));
}

TEST(PlannerListTest, TheNextOneIsTriedSoonUntilAllWere) {
  PlannerList list({"a:1", "b:1", "c:1"}, kPause, 1);
  for (const char* next : {"b:1", "c:1"}) {
    EXPECT_LE(list.Ended(kNever, false, ""), absl::Milliseconds(100));
    EXPECT_EQ(list.current(), next);
  }
  EXPECT_GE(list.Ended(kNever, /*refused=*/true, ""), absl::Milliseconds(2500)) << "all were tried";
  EXPECT_EQ(list.current(), "a:1");
}

TEST(PlannerListTest, TheLeaderThatAPlannerNamesIsTriedAtOnce) {
  PlannerList list({"a:1", "b:1"}, kPause, 1);
  EXPECT_EQ(list.Ended(kNever, false, "x:7"), absl::ZeroDuration());
  EXPECT_EQ(list.current(), "x:7") << "it need not be in the list";
  EXPECT_LE(list.Ended(absl::Seconds(60), false, ""), absl::Milliseconds(100)) << "it was accepted there";
  EXPECT_EQ(list.current(), "b:1");
}

TEST(PlannerListTest, PlannersThatNameOneAnotherAreNotFollowedForEver) {
  PlannerList list({"a:1", "b:1"}, kPause, 1);
  int at_once = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string leader = list.current() == "a:1" ? "b:1" : "a:1";
    at_once += list.Ended(kNever, false, leader) == absl::ZeroDuration() ? 1 : 0;
  }
  EXPECT_LT(at_once, 80);
}

// It refuses connections until it has opened its store, and who was a standby a moment ago may still name its
// predecessor; the others may be ones that stand still.
TEST(PlannerListTest, APlannerThatBeginsToLeadIsTriedAgainForAWhile) {
  PlannerList list({"a:1", "b:1", "c:1"}, kPause, 1);
  list.Follow("b:1");
  absl::Duration total;
  for (int i = 0; i < 6; ++i) {
    total += list.Ended(kNever, /*refused=*/i == 1, i == 1 ? "a:1" : "");
    EXPECT_EQ(list.current(), "b:1");
  }
  EXPECT_GE(total, absl::Milliseconds(900));
  EXPECT_LE(total, absl::Seconds(3));
  list.Ended(kNever, false, "");
  EXPECT_NE(list.current(), "b:1");
  list.Follow("c:1");
  list.Ended(absl::Seconds(1), false, "");
  EXPECT_NE(list.current(), "c:1") << "it has led, and has ended";
}

TEST(PlannerListTest, AnotherOneIsAskedThanTheOneInUse) {
  PlannerList list({"a:1", "b:1", "c:1"}, kPause, 1);
  std::set<std::string> asked;
  for (int i = 0; i < 6; ++i) asked.insert(list.Other());
  EXPECT_EQ(asked, (std::set<std::string>{"b:1", "c:1"}));
  list.Follow("b:1");
  EXPECT_EQ(list.current(), "b:1");
  EXPECT_NE(list.Other(), "b:1");
}

}  // namespace
}  // namespace copse::daemon
