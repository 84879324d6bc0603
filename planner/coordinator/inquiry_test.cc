// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/inquiry.h"

#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

constexpr absl::Duration kSilent = absl::Seconds(10);

// Nodes are numbered from 1; 0 in a list of lost nodes stands for either end.
class InquiryTest : public testing::Test {
 protected:
  bool Accuse(uint64_t from, uint64_t about, uint32_t living) {
    return inquiry_.Accuse(Incarnation{from}, Incarnation{about}, living, {TeamId{from}}, kSilent);
  }
  // Both ends report the link dead.
  void Dead(uint64_t a, uint32_t living_a, uint64_t b, uint32_t living_b) {
    Accuse(a, b, living_a);
    Accuse(b, a, living_b);
  }
  std::vector<uint64_t> Lost(uint64_t a, uint64_t b) {
    std::vector<uint64_t> lost;
    const auto can_speak = [this](Incarnation daemon) { return away_.count(daemon.value()) == 0; };
    for (const LinkVerdict& verdict : inquiry_.Judge(PairOf(Incarnation{a}, Incarnation{b}), can_speak))
      lost.push_back(verdict.lost.value_or(Incarnation{0}).value());
    return lost;
  }

  Inquiry inquiry_;
  std::set<uint64_t> away_;  // without a stream to the planner
};

TEST_F(InquiryTest, WhatCannotSpeakIsNotBlamedForItsSilence) {
  Accuse(1, 2, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{2}));
  away_ = {2};
  Accuse(1, 2, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{0}));
  Accuse(1, 2, 1);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{2})) << "the other one hears a third";
}

TEST_F(InquiryTest, AHubThatIsCutOff) {
  Dead(2, 0, 1, 0);
  Dead(2, 0, 3, 0);
  Dead(2, 0, 4, 0);
  EXPECT_EQ(Lost(2, 3), (std::vector<uint64_t>{2, 2, 2}));
  EXPECT_TRUE(inquiry_.empty());
}

TEST_F(InquiryTest, ALeafThatIsCutOffAndComplainsFirst) {
  Accuse(5, 1, 0);
  Accuse(1, 5, 3);
  EXPECT_EQ(Lost(1, 5), (std::vector<uint64_t>{5}));
}

TEST_F(InquiryTest, AnInnerNodeOfAChain) {
  Dead(1, 0, 2, 0);
  Dead(2, 0, 3, 1);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{2, 2}));
}

TEST_F(InquiryTest, OneOfAnExchangeInWhichAllAreNeighbours) {
  for (const uint64_t other : {1, 2, 4}) Dead(3, 0, other, 2);
  EXPECT_EQ(Lost(3, 4), (std::vector<uint64_t>{3, 3, 3}));
}

TEST_F(InquiryTest, TwoLeavesOfOneNodeThatHearsAnother) {
  Dead(1, 1, 2, 0);
  Dead(1, 1, 3, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{2, 3}));
}

TEST_F(InquiryTest, WhatTheLostOneExplainsSpeaksAgainstNobodyElse) {
  // Node 2 is cut off; so is 5, a child of its child 4.
  Dead(1, 1, 2, 0);
  Dead(2, 0, 3, 1);
  Dead(2, 0, 4, 1);
  Dead(4, 1, 5, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{2, 2, 2, 5}));
}

TEST_F(InquiryTest, TwoNodesAlone) {
  Dead(1, 0, 2, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{0}));
}

TEST_F(InquiryTest, OfTwoNodesTheOneThatIsSilentToThePlannerToo) {
  Accuse(1, 2, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{2}));
}

TEST_F(InquiryTest, ALinkBetweenTwoThatHearOthers) {
  Dead(1, 2, 2, 1);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{0}));
}

TEST_F(InquiryTest, TheLatestReportTellsHowManyAreHeard) {
  Accuse(1, 2, 2);
  Accuse(1, 3, 1);
  Accuse(1, 4, 0);
  Accuse(2, 1, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{1, 1, 1}));
}

TEST_F(InquiryTest, WhoIsHeardAgainIsNotLost) {
  EXPECT_TRUE(Accuse(1, 2, 0));
  EXPECT_FALSE(Accuse(2, 1, 0)) << "the same link";
  inquiry_.Withdraw(Incarnation{1}, Incarnation{2});
  EXPECT_FALSE(inquiry_.empty());
  inquiry_.Withdraw(Incarnation{2}, Incarnation{1});
  inquiry_.Withdraw(Incarnation{2}, Incarnation{1});
  EXPECT_TRUE(inquiry_.empty());
  EXPECT_TRUE(Lost(1, 2).empty());
}

TEST_F(InquiryTest, OtherIncidentsWait) {
  Dead(1, 0, 2, 1);
  Dead(7, 1, 8, 0);
  EXPECT_EQ(Lost(1, 2), (std::vector<uint64_t>{1}));
  EXPECT_FALSE(inquiry_.empty());
  EXPECT_EQ(Lost(7, 8), (std::vector<uint64_t>{8}));
}

TEST_F(InquiryTest, AVerdictHasAllTeamsAndTheLongestSilence) {
  Accuse(1, 2, 0);
  inquiry_.Accuse(Incarnation{2}, Incarnation{1}, 1, {TeamId{2}, TeamId{9}}, 2 * kSilent);
  const std::vector<LinkVerdict> verdicts =
      inquiry_.Judge(PairOf(Incarnation{2}, Incarnation{1}), [](Incarnation) { return true; });
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].link, (DaemonPair{Incarnation{1}, Incarnation{2}}));
  EXPECT_EQ(verdicts[0].teams, (std::set<TeamId>{TeamId{1}, TeamId{2}, TeamId{9}}));
  EXPECT_EQ(verdicts[0].silent, 2 * kSilent);
}

}  // namespace
}  // namespace copse::coordinator
