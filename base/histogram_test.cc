// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(HistogramTest, BucketsCoverAllValuesWithoutGapOrOverlap) {
  EXPECT_EQ(Histogram::LowestOf(0), 0u);
  for (uint32_t i = 0; i + 1 < Histogram::kBucketCount; ++i) {
    EXPECT_EQ(Histogram::HighestOf(i) + 1, Histogram::LowestOf(i + 1));
    EXPECT_EQ(Histogram::BucketOf(Histogram::LowestOf(i)), i);
    EXPECT_EQ(Histogram::BucketOf(Histogram::HighestOf(i)), i);
  }
  EXPECT_EQ(Histogram::BucketOf(Histogram::kValueMax), Histogram::kBucketCount - 1);
  EXPECT_EQ(Histogram::BucketOf(~uint64_t{0}), Histogram::kBucketCount - 1);
}

TEST(HistogramTest, ABucketIsAtMostAnEighthOfItsValuesWide) {
  for (uint32_t i = Histogram::kBucketsPerOctave; i < Histogram::kBucketCount; ++i) {
    EXPECT_LE(8 * (Histogram::HighestOf(i) - Histogram::LowestOf(i)), Histogram::LowestOf(i));
  }
}

TEST(HistogramTest, EmptyIsAllZeros) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.min(), 0u);
  EXPECT_EQ(empty.max(), 0u);
  EXPECT_EQ(empty.mean(), 0);
  EXPECT_EQ(empty.Percentile(0.5), 0u);
}

TEST(HistogramTest, OneValueIsEveryPercentile) {
  Histogram one;
  one.Record(123456789);
  for (const double p : {0.0, 0.5, 0.99, 1.0}) EXPECT_EQ(one.Percentile(p), 123456789u);
  EXPECT_EQ(one.mean(), 123456789);
}

TEST(HistogramTest, PercentilesAreWithinAnEighthOfTheSortedValues) {
  Prng prng(7);
  for (int round = 0; round < 50; ++round) {
    Histogram histogram;
    std::vector<uint64_t> values;
    const uint64_t count = 1 + prng.Below(3000);
    for (uint64_t i = 0; i < count; ++i) {
      values.push_back(prng.Next() >> (23 + prng.Below(41)));  // up to 2^41 ns, all magnitudes equally likely
      histogram.Record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double p : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
      const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(p * static_cast<double>(count))));
      const uint64_t exact = values[rank - 1];
      const uint64_t told = histogram.Percentile(p);
      EXPECT_GE(told, exact) << "p=" << p;
      EXPECT_LE(told, exact + exact / 8) << "p=" << p;
    }
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
    EXPECT_EQ(histogram.Percentile(1), values.back());
  }
}

TEST(HistogramTest, MoreThanAnHourIsInTheLastBucketAndExactAsMax) {
  Histogram histogram;
  histogram.Record(10);
  histogram.Record(5 * Histogram::kValueMax);
  EXPECT_EQ(histogram.max(), 5 * Histogram::kValueMax);
  EXPECT_EQ(histogram.Percentile(0.5), 10u);
  EXPECT_EQ(histogram.Percentile(1), 5 * Histogram::kValueMax);
}

TEST(HistogramTest, MergedIsAsIfRecordedInOne) {
  Prng prng(3);
  Histogram a, b, both;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t value = prng.Next() >> (24 + prng.Below(40));
    (prng.Chance(0.3) ? a : b).Record(value);
    both.Record(value);
  }
  a.Merge(b);
  for (uint32_t i = 0; i < Histogram::kBucketCount; ++i) EXPECT_EQ(a.bucket(i), both.bucket(i));
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.sum(), both.sum());
  EXPECT_EQ(a.min(), both.min());
  EXPECT_EQ(a.max(), both.max());
  a.Merge(Histogram());
  EXPECT_EQ(a.min(), both.min());
}

TEST(HistogramTest, RestoredFromItsBucketsIsTheSame) {
  Histogram original;
  for (const uint64_t value : {3, 100, 100, 5'000'000}) original.Record(value);
  Histogram copy;
  for (uint32_t i = 0; i < Histogram::kBucketCount; ++i) {
    if (original.bucket(i) == 0) continue;
    ASSERT_TRUE(copy.Restore(i, original.bucket(i)).ok());
  }
  ASSERT_TRUE(copy.RestoreTotals(original.sum(), original.min(), original.max()).ok());
  EXPECT_EQ(copy.Percentile(0.5), original.Percentile(0.5));
  EXPECT_EQ(copy.max(), 5'000'000u);
  EXPECT_EQ(copy.mean(), original.mean());
}

TEST(HistogramTest, WhatIsNoHistogramIsNotRestored) {
  Histogram histogram;
  EXPECT_FALSE(histogram.Restore(Histogram::kBucketCount, 1).ok());
  ASSERT_TRUE(histogram.Restore(Histogram::BucketOf(1000), 2).ok());
  EXPECT_FALSE(histogram.RestoreTotals(2000, 10, 1000).ok());
  EXPECT_FALSE(histogram.RestoreTotals(2000, 1000, 5000).ok());
  EXPECT_TRUE(histogram.RestoreTotals(2000, 1000, 1000).ok());
}

}  // namespace
}  // namespace copse
