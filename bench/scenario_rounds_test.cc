// SPDX-License-Identifier: Apache-2.0
#include "bench/scenario_rounds.h"

#include <gtest/gtest.h>

namespace copse::bench {
namespace {

TEST(ScenarioRoundsTest, FiguresAreMediansOfRounds) {
  const auto rounds = ParseRounds({10000, 5000, 14000, 9000, 3000, 100,  //
                                   12000, 5000, 18000, 9000, 3000, 100,  //
                                   11000, 8000, 16000, 1000, 4000, 300});
  ASSERT_TRUE(rounds.ok()) << rounds.status();
  EXPECT_DOUBLE_EQ(rounds->call, 11);
  EXPECT_DOUBLE_EQ(rounds->computation, 5);
  EXPECT_DOUBLE_EQ(rounds->total, 16);
  EXPECT_DOUBLE_EQ(rounds->in_call, 9);
  EXPECT_DOUBLE_EQ(rounds->call_busy, 3);
  EXPECT_DOUBLE_EQ(rounds->computation_busy, 0.1);
  EXPECT_EQ(rounds->totals, (std::vector<double>{14, 18, 16}));
}

TEST(ScenarioRoundsTest, RefusesHalfARound) {
  EXPECT_TRUE(absl::IsInternal(ParseRounds({}).status()));
  EXPECT_TRUE(absl::IsInternal(ParseRounds({1, 2, 3}).status()));
}

TEST(ScenarioRoundsTest, TheProgramIsToldMicroseconds) {
  const RankCell cell = CellOf({"alltoall", 65536}, {.unrelated = 1.5, .related = 20, .share = 0.125});
  EXPECT_EQ(cell.collective, "alltoall");
  EXPECT_EQ(cell.bytes, 65536u);
  EXPECT_EQ(cell.words, (std::vector<std::string>{"1500", "20000", "0.125", "forward", "malloc"}));
}

TEST(ScenarioRoundsTest, BlocksComeByRanksOrSegments) {
  EXPECT_EQ(BlocksOf({"alltoall", 1}, 16), 16u);
  EXPECT_EQ(FirstPartOf({"alltoall", 1}, 4), 0.25);
  EXPECT_EQ(BlocksOf({"bcast", 8}, 16), 8u);
  EXPECT_EQ(FirstPartOf({"bcast", 8}, 4), 0.125);
}

}  // namespace
}  // namespace copse::bench
