// SPDX-License-Identifier: Apache-2.0
#include "bench/overlap.h"

#include <gtest/gtest.h>

namespace copse::bench {
namespace {

TEST(OverlapTest, WhatTheApplicationWaitedForIsNotOverlapped) {
  EXPECT_EQ(NotOverlappedPercent({.call = 100, .compute = 100, .total = 200}), 100);
  EXPECT_EQ(NotOverlappedPercent({.call = 100, .compute = 100, .total = 105}), 5);
  EXPECT_EQ(NotOverlappedPercent({.call = 100, .compute = 100, .total = 100}), 0);
  // Never beyond what there is: timings vary.
  EXPECT_EQ(NotOverlappedPercent({.call = 100, .compute = 100, .total = 99}), 0);
  EXPECT_EQ(NotOverlappedPercent({.call = 100, .compute = 100, .total = 300}), 100);
  EXPECT_EQ(NotOverlappedPercent({.call = 0, .compute = 100, .total = 100}), 100);
}

TEST(OverlapTest, WhatProcessorsHadToDoIsAllowedFor) {
  EXPECT_DOUBLE_EQ(OverCosts({.call = 100, .compute = 100, .total = 132, .post = 2, .others = 30}), 1);
  EXPECT_DOUBLE_EQ(OverCosts({.call = 100, .compute = 100, .total = 204, .post = 2, .others = -5}), 2);
}

}  // namespace
}  // namespace copse::bench
