// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/statistics.h"

#include <gtest/gtest.h>

namespace copse::perftest {
namespace {

TEST(PercentilesTest, LieBetweenTheirNeighbors) {
  const Percentiles p = PercentilesOf({40, 10, 30, 20});
  EXPECT_DOUBLE_EQ(p.p10, 13);
  EXPECT_DOUBLE_EQ(p.median, 25);
  EXPECT_DOUBLE_EQ(p.p90, 37);
  EXPECT_DOUBLE_EQ(p.p99, 39.7);
}

TEST(PercentilesTest, OfOneValueAreThatValueAndOfNoneZero) {
  EXPECT_DOUBLE_EQ(PercentilesOf({7}).p99, 7);
  EXPECT_DOUBLE_EQ(PercentilesOf({}).median, 0);
  EXPECT_DOUBLE_EQ(Mean({}), 0);
  EXPECT_DOUBLE_EQ(Mean({1, 2, 6}), 3);
}

TEST(OverlapTest, IsTheHiddenShareOfTheCommunication) {
  EXPECT_DOUBLE_EQ(OverlapPercent(100, 100, 50), 100);  // all hidden
  EXPECT_DOUBLE_EQ(OverlapPercent(150, 100, 50), 0);    // one after the other
  EXPECT_DOUBLE_EQ(OverlapPercent(125, 100, 50), 50);
  EXPECT_DOUBLE_EQ(OverlapPercent(300, 100, 50), 0);   // never below 0
  EXPECT_DOUBLE_EQ(OverlapPercent(99, 100, 50), 100);  // nor above 100
  EXPECT_DOUBLE_EQ(OverlapPercent(1, 1, 0), 0);
}

}  // namespace
}  // namespace copse::perftest
