// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/inquiry.h"

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

// Says in each report which daemon accuses which, and how many others it hears.
struct Accusation {
  uint64_t from, about;
  uint32_t living;
};
struct Incident {
  const char* name;
  std::vector<Accusation> reports;
  std::vector<uint64_t> lost;  // by the verdicts on the link of the first report
};
class IncidentTest : public InquiryTest, public testing::WithParamInterface<Incident> {};

TEST_P(IncidentTest, LosesTheRightNodes) {
  for (const Accusation& report : GetParam().reports) Accuse(report.from, report.about, report.living);
  EXPECT_EQ(Lost(GetParam().reports[0].from, GetParam().reports[0].about), GetParam().lost);
  EXPECT_TRUE(inquiry_.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, IncidentTest,
    testing::Values(
        Incident{"AHubThatIsCutOff", {{2, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 2, 0}, {2, 4, 0}, {4, 2, 0}}, {2, 2, 2}},
        Incident{"ALeafThatIsCutOffAndComplainsFirst", {{5, 1, 0}, {1, 5, 3}}, {5}},
        Incident{"AnInnerNodeOfAChain", {{1, 2, 0}, {2, 1, 0}, {2, 3, 0}, {3, 2, 1}}, {2, 2}},
        Incident{"OneOfAnExchangeInWhichAllAreNeighbors",
                 {{3, 1, 0}, {1, 3, 2}, {3, 2, 0}, {2, 3, 2}, {3, 4, 0}, {4, 3, 2}},
                 {3, 3, 3}},
        Incident{"TwoLeavesOfOneNodeThatHearsAnother", {{1, 2, 1}, {2, 1, 0}, {1, 3, 1}, {3, 1, 0}}, {2, 3}},
        // Node 2 is cut off; so is 5, a child of its child 4.
        Incident{"WhatTheLostOneExplainsSpeaksAgainstNobodyElse",
                 {{1, 2, 1}, {2, 1, 0}, {2, 3, 0}, {3, 2, 1}, {2, 4, 0}, {4, 2, 1}, {4, 5, 1}, {5, 4, 0}},
                 {2, 2, 2, 5}},
        Incident{"TwoNodesAlone", {{1, 2, 0}, {2, 1, 0}}, {0}},
        Incident{"OfTwoNodesTheOneThatIsSilentToThePlannerToo", {{1, 2, 0}}, {2}},
        Incident{"ALinkBetweenTwoThatHearOthers", {{1, 2, 2}, {2, 1, 1}}, {0}},
        Incident{"TheLatestReportTellsHowManyAreHeard", {{1, 2, 2}, {1, 3, 1}, {1, 4, 0}, {2, 1, 0}}, {1, 1, 1}}),
    [](const auto& info) { return info.param.name; });

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
