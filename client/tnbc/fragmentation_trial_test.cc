// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/fragmentation_trial.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// The ranks of a team, each of which counts for itself. What calls take is this, in nanoseconds.
struct Rank {
  uint64_t early = 0;  // 0: it cannot return early
  uint64_t blocking = 0, whole = 0;
  FragmentationTrial trial;
};

// Makes calls on all ranks; returns how many of them were fragmented.
uint64_t Divided(std::vector<Rank>* ranks, uint64_t calls, uint64_t* agreements = nullptr) {
  uint64_t fragmented = 0;
  for (uint64_t call = 0; call < calls; ++call) {
    const bool agrees = (*ranks)[0].trial.AgreesBeforeNext();
    FragmentationTrial::Figures sums = {};
    for (Rank& rank : *ranks) {
      EXPECT_EQ(rank.trial.AgreesBeforeNext(), agrees);
      const FragmentationTrial::Figures mine = rank.trial.Mine();
      for (size_t i = 0; i < mine.size(); ++i) sums[i] += mine[i];
    }
    if (agrees && agreements != nullptr) ++*agreements;
    bool fragments = false;
    for (Rank& rank : *ranks) {
      if (agrees) rank.trial.Adopt(sums);
      fragments = rank.trial.FragmentsNext();
      if (!fragments) {
        rank.trial.CountWhole(rank.whole);
      } else if (rank.early == 0) {
        rank.trial.CountFragmented(rank.blocking, /*returned_early=*/false);
      } else {
        rank.trial.CountEarlyReturn();
        rank.trial.CountFragmented(rank.early, /*returned_early=*/true);
      }
    }
    fragmented += fragments ? 1 : 0;
  }
  return fragmented;
}

TEST(FragmentationTrialTest, WhatPaysInAllIsDivided) {
  // The second rank loses less than the first gains.
  std::vector<Rank> ranks = {{.early = 50, .blocking = 110, .whole = 100},
                             {.early = 120, .blocking = 110, .whole = 100}};
  EXPECT_EQ(Divided(&ranks, 13), 10u);
  EXPECT_EQ(Divided(&ranks, 64), 64u);
  EXPECT_FALSE(ranks[0].trial.is_whole());
}

TEST(FragmentationTrialTest, WhatSavesTooLittleIsNot) {
  std::vector<Rank> ranks = {{.early = 50, .blocking = 110, .whole = 100},
                             {.early = 149, .blocking = 110, .whole = 100}};
  EXPECT_EQ(Divided(&ranks, 13), 10u);
  EXPECT_EQ(Divided(&ranks, 64), 0u);
  EXPECT_TRUE(ranks[1].trial.is_whole());
  // Tried again, with the same result.
  EXPECT_EQ(Divided(&ranks, 13), 10u);
  EXPECT_EQ(Divided(&ranks, 128), 0u);
  // Then it pays.
  ranks[1].early = 100;
  EXPECT_EQ(Divided(&ranks, 13), 10u);
  EXPECT_EQ(Divided(&ranks, 64), 64u);
}

TEST(FragmentationTrialTest, WhereNobodyCanReturnEarlyTwoCallsAreTried) {
  std::vector<Rank> ranks = {{.blocking = 110, .whole = 100}, {.blocking = 110, .whole = 100}};
  EXPECT_EQ(Divided(&ranks, 2), 2u);
  EXPECT_EQ(Divided(&ranks, 64), 0u);
  EXPECT_EQ(Divided(&ranks, 2 + 128), 2u);
}

TEST(FragmentationTrialTest, OneRankThatCannotReturnEarlyCountsAsWhatItTakes) {
  std::vector<Rank> ranks = {{.early = 20, .blocking = 110, .whole = 100}, {.blocking = 150, .whole = 100}};
  EXPECT_EQ(Divided(&ranks, 13 + 64), 10u + 64);
  ranks[1].blocking = 190;
  EXPECT_EQ(Divided(&ranks, 13 + 64), 10u);
}

TEST(FragmentationTrialTest, TrialsBecomeSeldom) {
  std::vector<Rank> ranks = {{.early = 50, .blocking = 110, .whole = 100}};
  uint64_t agreements = 0;
  Divided(&ranks, 100'000, &agreements);
  EXPECT_GT(agreements, 10u);
  EXPECT_LT(agreements, 100u);
}

// Data of such a rank was under way when the others had measured all.
TEST(FragmentationTrialTest, WhoHasNotMeasuredBothSaysNothing) {
  FragmentationTrial trial;
  trial.CountEarlyReturn();
  EXPECT_EQ(trial.Mine(), (FragmentationTrial::Figures{0, 0, 1}));
  trial.CountFragmented(100, /*returned_early=*/true);
  EXPECT_EQ(trial.Mine(), (FragmentationTrial::Figures{0, 0, 1}));
  std::vector<Rank> ranks = {{.early = 90, .blocking = 1, .whole = 100}};
  Divided(&ranks, 13);
  EXPECT_EQ(ranks[0].trial.Mine(), (FragmentationTrial::Figures{90, 100, 10}));
}

}  // namespace
}  // namespace copse::tnbc
