// SPDX-License-Identifier: Apache-2.0

#include "base/prng.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace copse {
namespace {

TEST(PrngTest, MatchesTheReferenceImplementation) {
  // xoshiro256** with its state filled by splitmix64 from seed 0.
  Prng prng(0);
  EXPECT_EQ(prng.Next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(prng.Next(), 0xbf6e1f784956452au);
  EXPECT_EQ(prng.Next(), 0x1a5f849d4933e6e0u);
}

TEST(PrngTest, SameSeedSameSequence) {
  Prng a(42);
  Prng b(42);
  Prng c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.Next();
    EXPECT_EQ(value, b.Next());
    differs |= value != c.Next();
  }
  EXPECT_TRUE(differs);
}

TEST(PrngTest, BelowIsUniform) {
  Prng prng(1);
  std::vector<int> counts(7);
  constexpr int kDraws = 70000;
  for (int i = 0; i < kDraws; ++i) ++counts[prng.Below(7)];
  // Chi-square with 6 degrees of freedom: 22.5 is exceeded by chance once in a thousand seeds.
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 22.5);
}

TEST(PrngTest, BelowHandlesTheExtremes) {
  Prng prng(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(prng.Below(1), 0u);
    // About every second draw is rejected here.
    EXPECT_LT(prng.Below((uint64_t{1} << 63) + 1), (uint64_t{1} << 63) + 1);
    EXPECT_LT(prng.Below(UINT64_MAX), UINT64_MAX);
  }
}

TEST(PrngDeathTest, BelowZeroIsABug) { EXPECT_DEATH(Prng(1).Below(0), "CHECK failed: n > 0"); }

TEST(PrngTest, UnitStaysBelowOne) {
  Prng prng(3);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = prng.Unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(PrngTest, ChanceKeepsItsExtremes) {
  Prng prng(4);
  int count = 0;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_FALSE(prng.Chance(0));
    EXPECT_FALSE(prng.Chance(-1));
    EXPECT_TRUE(prng.Chance(1));
    count += prng.Chance(0.25);
  }
  EXPECT_NEAR(count, 2500, 200);
}

}  // namespace
}  // namespace copse
