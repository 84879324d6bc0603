// SPDX-License-Identifier: Apache-2.0
#include "bench/papers/tnbc.h"

#include <gtest/gtest.h>

namespace copse::bench::papers {
namespace {

TEST(ScenarioRoundsTest, FiguresAreMediansOfRounds) {
  const auto rounds = ParseRounds({10000, 5000, 14000, 9000,  //
                                   12000, 5000, 18000, 9000,  //
                                   11000, 8000, 16000, 1000});
  ASSERT_TRUE(rounds.ok()) << rounds.status();
  EXPECT_DOUBLE_EQ(rounds->call, 11);
  EXPECT_DOUBLE_EQ(rounds->computation, 5);
  EXPECT_DOUBLE_EQ(rounds->total, 16);
  EXPECT_DOUBLE_EQ(rounds->in_call, 9);
  EXPECT_EQ(rounds->totals, (std::vector<double>{14, 18, 16}));
}

TEST(ScenarioRoundsTest, RefusesHalfARound) {
  EXPECT_TRUE(absl::IsInternal(ParseRounds({}).status()));
  EXPECT_TRUE(absl::IsInternal(ParseRounds({1, 2, 3}).status()));
}

TEST(ScenarioTest, TheProgramIsToldMicroseconds) {
  const Scenario scenario = {.collective = "alltoall", .unrelated = 1.5, .related = 20, .order = "reverse"};
  EXPECT_EQ(WordsOf(scenario, 10), (std::vector<std::string>{"15000", "200000", "reverse"}));
}

TEST(ScenarioTest, BlocksComeByRanksOrSegments) {
  const Rounds rounds = {.call = 8, .computation = 10};
  const CallAndComputation alltoall = ModelOf({.collective = "alltoall", .unrelated = 1, .related = 4}, rounds, 4, 4);
  EXPECT_EQ(alltoall.blocks, 16u);
  EXPECT_EQ(alltoall.first_part, 0.25);
  EXPECT_DOUBLE_EQ(alltoall.unrelated, 2);
  EXPECT_DOUBLE_EQ(alltoall.related, 8);
  const CallAndComputation bcast = ModelOf({.collective = "bcast", .related = 1}, rounds, 4, 4);
  EXPECT_EQ(bcast.blocks, 8u);
  EXPECT_EQ(bcast.first_part, 0.125);
}

TEST(ScenarioTest, ThePapersComputationsAreInCalls) {
  std::vector<double> hidden;
  for (const char* name : {"445+350", "0+350", "0+175", "177+350", "177+175"}) {
    const Scenario scenario = ScenarioOf({{"collective", "alltoall"}, {"scenario", name}});
    hidden.push_back(OverlapAllowed({.call = 268,
                                     .unrelated = 268 * scenario.unrelated,
                                     .related = 268 * scenario.related,
                                     .blocks = 64,
                                     .first_part = 0.125}));
  }
  EXPECT_NEAR(hidden[0], 268, 1e-6);
  EXPECT_NEAR(hidden[1], 268 * 0.875, 1e-6);
  EXPECT_NEAR(hidden[2], 175 * 63 / 64.0, 1e-6);
  EXPECT_NEAR(hidden[3], 268, 1e-6);
  EXPECT_NEAR(hidden[4], 268, 1e-6);
}

}  // namespace
}  // namespace copse::bench::papers
