// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/circulant.h"

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using Distances = std::vector<uint32_t>;

TEST(CirculantDistancesTest, AreThoseOfTheName) {
  EXPECT_EQ(CirculantDistances("ring", 7), Distances{1});
  EXPECT_EQ(CirculantDistances("bruck", 8), (Distances{1, 2, 4}));
  EXPECT_EQ(CirculantDistances("bruck", 9), (Distances{1, 2, 4, 8}));
  EXPECT_EQ(CirculantDistances("doubling", 5), (Distances{1, 2, 4}));
  EXPECT_EQ(CirculantDistances("rotated-binomial", 9), (Distances{1, 2, 4, 8}));
  EXPECT_EQ(CirculantDistances("pairwise", 4), (Distances{1, 2, 3}));
  for (const char* name : {"ring", "bruck", "doubling", "rotated-binomial", "pairwise"}) {
    EXPECT_EQ(CirculantDistances(name, 1), Distances()) << name;
    EXPECT_EQ(CirculantDistances(name, 2), Distances{1}) << name;
  }
}

TEST(CirculantDistancesTest, OtherNamesAreNone) { EXPECT_FALSE(CirculantDistances("binomial", 4).has_value()); }

}  // namespace
}  // namespace copse::planner
