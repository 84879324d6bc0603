// SPDX-License-Identifier: Apache-2.0
#include "bench/analyses.h"

#include <gtest/gtest.h>

namespace copse::bench {
namespace {

TEST(OverlapTest, WhatProcessorsHadToDoIsAllowedFor) {
  EXPECT_DOUBLE_EQ(OverCosts({.call = 100, .compute = 100, .total = 132, .post = 2, .others = 30}), 1);
  EXPECT_DOUBLE_EQ(OverCosts({.call = 100, .compute = 100, .total = 204, .post = 2, .others = -5}), 2);
}

const std::vector<uint32_t> kChain = {1, 2, 2, 1}, kFlat = {3, 1, 1, 1}, kRing = {2, 2, 2, 2}, kBinomial = {2, 2, 1, 1};

TEST(LinkUseTest, ATreeIsAsFastAsWhoHasMostChildren) {
  EXPECT_EQ(BusiestLinkBytes({"bcast", "chain", kChain, 100}), 100);
  EXPECT_EQ(BusiestLinkBytes({"bcast", "flat", kFlat, 100}), 300);
  EXPECT_EQ(BusiestLinkBytes({"reduce", "binomial", kBinomial, 100}), 200);
  EXPECT_EQ(BusiestLinkBytes({"allreduce", "chain", kChain, 100}), 200);  // one up and one down
  EXPECT_EQ(BusiestLinkBytes({"allreduce", "flat", kFlat, 100}), 300);
  EXPECT_EQ(BusiestLinkBytes({"allreduce", "recursive-doubling", kRing, 100}), 200);
  EXPECT_EQ(BusiestLinkBytes({"allgather", "chain", kChain, 100}), 400);
  EXPECT_EQ(BusiestLinkBytes({"allgather", "flat", kFlat, 100}), 1200);
}

TEST(LinkUseTest, ARingCarriesNothingTwice) {
  EXPECT_EQ(BusiestLinkBytes({"bcast", "ring", kRing, 100}), 100);
  EXPECT_EQ(BusiestLinkBytes({"allreduce", "ring", kRing, 100}), 150);
  EXPECT_EQ(BusiestLinkBytes({"allreduce", "rotated-binomial", kRing, 100}), 150);
  EXPECT_EQ(BusiestLinkBytes({"allgather", "ring", kRing, 100}), 300);
  EXPECT_EQ(BusiestLinkBytes({"allgather", "bruck", kFlat, 100}), 300);
}

TEST(LinkUseTest, WhatIsNotKnownIsNotGuessed) {
  EXPECT_EQ(BusiestLinkBytes({"scan", "ring", kRing, 100}), 0);
  EXPECT_EQ(BusiestLinkBytes({"bcast", "flat", {}, 100}), 0);
  EXPECT_EQ(BusiestLinkBytes({"bcast", "flat", {0, 0}, 100}), 0);
}

TEST(LinkUseTest, HeadersTakeTheirPart) { EXPECT_NEAR(PayloadRate(1'000'000'000) / 1e6, 119.55, 0.01); }

}  // namespace
}  // namespace copse::bench
