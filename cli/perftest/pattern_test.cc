// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/element_reference.h"

namespace copse::perftest {
namespace {

constexpr uint64_t kCount = 1000;
constexpr uint32_t kRanks = 5;

TEST(PatternTest, ReductionsAreThoseOfTheContributions) {
  for (const ElementOp op : {ElementOp::kSum, ElementOp::kMin, ElementOp::kMax, ElementOp::kBxor}) {
    const Pattern pattern(ElementType::kInt32, op, kRanks, 1);
    std::vector<int32_t> reduced(kCount), expected(kCount), mine(kCount);
    pattern.Reduction(3, kRanks, 0, kCount, reduced.data());
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      pattern.Contribution(3, rank, kCount, mine.data());
      for (uint64_t i = 0; i < kCount; ++i) {
        const int32_t a = expected[i], b = mine[i];
        expected[i] = rank == 0 ? b
                      : op == ElementOp::kSum
                          ? static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b))
                      : op == ElementOp::kMin ? std::min(a, b)
                      : op == ElementOp::kMax ? std::max(a, b)
                                              : a ^ b;
      }
    }
    EXPECT_EQ(CountDifferences(reduced.data(), expected.data(), kCount, 4), 0u) << ElementOpName(op);
  }
}

// A sum of short floating-point numbers that is exact is the same in any order of the ranks.
TEST(PatternTest, SumsOfShortFloatsAreExactHoweverManyRanks) {
  constexpr uint32_t kManyRanks = 3000;
  const auto check = [](ElementType type, auto zero) {
    using T = decltype(zero);
    const Pattern pattern(type, ElementOp::kSum, kManyRanks, 1);
    std::vector<T> mine(Pattern::kPeriod), reduced(Pattern::kPeriod);
    std::vector<double> sums(Pattern::kPeriod);
    for (uint32_t rank = 0; rank < kManyRanks; ++rank) {
      pattern.Contribution(0, rank, Pattern::kPeriod, mine.data());
      for (uint32_t i = 0; i < Pattern::kPeriod; ++i) sums[i] += static_cast<double>(mine[i]);
    }
    pattern.Reduction(0, kManyRanks, 0, Pattern::kPeriod, reduced.data());
    for (uint32_t i = 0; i < Pattern::kPeriod; ++i) EXPECT_EQ(static_cast<double>(reduced[i]), sums[i]);
  };
  check(ElementType::kHalf, Half());
  check(ElementType::kBfloat16, Bfloat16());
}

// For every type and operation, another call or another seed has another result, so a stale or foreign one is found.
TEST(PatternTest, ResultsDifferByCallAndSeed) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    for (int o = 0; o < kElementOpCount; ++o) {
      const auto type = static_cast<ElementType>(t);
      const auto operation = static_cast<ElementOp>(o);
      if (!IsDefined(operation, type)) continue;
      const auto result = [&](uint64_t seed, uint64_t call) {
        std::vector<uint8_t> out(kCount * ElementBytes(type));
        Pattern(type, operation, kRanks, seed).Reduction(call, kRanks, 0, kCount, out.data());
        return out;
      };
      EXPECT_EQ(result(1, 0), result(1, 0));
      EXPECT_GT(CountDifferences(result(1, 0).data(), result(1, 1).data(), kCount, ElementBytes(type)), kCount / 10)
          << ElementTypeName(type) << " " << ElementOpName(operation);
      EXPECT_GT(CountDifferences(result(1, 0).data(), result(2, 0).data(), kCount, ElementBytes(type)), kCount / 10)
          << ElementTypeName(type) << " " << ElementOpName(operation);
    }
  }
}

TEST(PatternTest, AReductionHasItsElementsWhereverTheyBegin) {
  const Pattern pattern(ElementType::kInt32, ElementOp::kSum, kRanks, 1);
  std::vector<int32_t> all(kCount), tail(kCount - 300), mine(kCount);
  pattern.Reduction(3, kRanks, 0, kCount, all.data());
  pattern.Reduction(3, kRanks, 300, tail.size(), tail.data());
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + 300));
  pattern.Reduction(3, 1, 0, kCount, all.data());
  pattern.Contribution(3, 0, kCount, mine.data());
  EXPECT_EQ(all, mine);
}

TEST(PatternTest, WhatIsMovedDiffersBySenderAndReceiver) {
  const Pattern pattern(ElementType::kFloat, ElementOp::kSum, kRanks, 1);
  std::vector<float> a(kCount), b(kCount), c(kCount);
  pattern.Moved(0, 0, 0, kCount, a.data());
  pattern.Moved(0, 1, 0, kCount, b.data());
  pattern.Moved(0, 0, 1, kCount, c.data());
  EXPECT_GT(CountDifferences(a.data(), b.data(), kCount, 4), kCount / 2);
  EXPECT_GT(CountDifferences(a.data(), c.data(), kCount, 4), kCount / 2);
  EXPECT_GT(CountDifferences(b.data(), c.data(), kCount, 4), kCount / 2);
}

}  // namespace
}  // namespace copse::perftest
