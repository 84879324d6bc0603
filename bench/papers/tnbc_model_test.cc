// SPDX-License-Identifier: Apache-2.0
#include "bench/papers/tnbc_model.h"

#include <gtest/gtest.h>

namespace copse::bench::papers {
namespace {

// A call takes 100; 4 ranks a node, 16 blocks.
CallAndComputation Alltoall(double unrelated, double related, double rest = 0) {
  return {.call = 100, .unrelated = unrelated, .related = related, .rest = rest, .blocks = 16, .first_part = 0.25};
}

TEST(TnbcModelTest, BlocksArriveEvenlyFromTheFirstToTheCallsEnd) {
  EXPECT_DOUBLE_EQ(ArrivalOf(Alltoall(0, 0), 0), 25);
  EXPECT_DOUBLE_EQ(ArrivalOf(Alltoall(0, 0), 1), 30);
  EXPECT_DOUBLE_EQ(ArrivalOf(Alltoall(0, 0), 15), 100);
  // A bcast in 8 segments: one after the other.
  const CallAndComputation bcast = {.call = 80, .blocks = 8, .first_part = 0.125};
  for (uint32_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(ArrivalOf(bcast, i), 10 * (i + 1));
  EXPECT_DOUBLE_EQ(ArrivalOf({.call = 80}, 0), 80);
}

TEST(TnbcModelTest, UnrelatedComputationIsHiddenWhole) {
  EXPECT_DOUBLE_EQ(Replay(Alltoall(60, 0)), 100);
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(60, 0)), 60);
  EXPECT_DOUBLE_EQ(Replay(Alltoall(150, 0)), 150);
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(150, 0)), 100);
}

TEST(TnbcModelTest, RelatedComputationWaitsForItsBlocks) {
  // Slower than the blocks come: from the first on it never waits.
  EXPECT_DOUBLE_EQ(Replay(Alltoall(0, 160)), 25 + 160);
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(0, 160)), 75);
  // Faster: it waits for each, and has the last one to do at the end.
  EXPECT_DOUBLE_EQ(Replay(Alltoall(0, 32)), 100 + 2);
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(0, 32)), 30);
  // Behind enough computation of its own all have come.
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(100, 32)), 100);
}

TEST(TnbcModelTest, WhatNeedsAllBlocksIsNotHidden) {
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(0, 32, 40)), 30);
  EXPECT_DOUBLE_EQ(OverlapAllowed(Alltoall(0, 0, 40)), 0);
  EXPECT_DOUBLE_EQ(Ceiling(Alltoall(0, 32, 40)), 72);
}

TEST(TnbcModelTest, TheCeilingIsTheComputationOrAllButTheFirstPart) {
  EXPECT_DOUBLE_EQ(Ceiling(Alltoall(10, 20)), 30);
  EXPECT_DOUBLE_EQ(Ceiling(Alltoall(1000, 20)), 75);
  EXPECT_DOUBLE_EQ(Ceiling(Alltoall(0, 0)), 0);
}

TEST(TnbcModelTest, WhatWasNotReached) {
  EXPECT_DOUBLE_EQ(NotReachedPercent(40, 40), 0);
  EXPECT_DOUBLE_EQ(NotReachedPercent(40, 30), 25);
  // More than can be: hidden, it would look like success.
  EXPECT_DOUBLE_EQ(NotReachedPercent(40, 50), -25);
  EXPECT_DOUBLE_EQ(NotReachedPercent(40, -10), 125);
  EXPECT_DOUBLE_EQ(NotReachedPercent(0, 0), 100);
}

}  // namespace
}  // namespace copse::bench::papers
