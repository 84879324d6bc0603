// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/winner_tree.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

LeastPair Pair(int64_t cost_ns, uint32_t sender, uint32_t receiver) {
  return {cost_ns, LeastPair::PairOf(sender, receiver)};
}

TEST(WinnerTreeTest, HasNoWinnerWithoutPairs) { EXPECT_EQ(WinnerTree(3).winner(), LeastPair()); }

TEST(WinnerTreeTest, TiesGoToTheLeastSenderThenReceiver) {
  WinnerTree tree(3);
  tree.Reset({Pair(5, 2, 1), Pair(5, 1, 4), Pair(5, 1, 3)});
  EXPECT_EQ(tree.winner(), Pair(5, 1, 3));
}

TEST(WinnerTreeTest, WinnerIsTheLeastAfterEachChange) {
  for (size_t count = 1; count <= 20; ++count) {
    Prng prng(count);
    WinnerTree tree(count);
    std::vector<LeastPair> pairs(count);
    for (int step = 0; step < 200; ++step) {
      const size_t entrant = prng.Below(count);
      pairs[entrant] = prng.Below(4) == 0 ? LeastPair() : Pair(static_cast<int64_t>(prng.Below(9)), 1, 2);
      tree.Set(entrant, pairs[entrant]);
      const auto least = std::min_element(pairs.begin(), pairs.end(), [](const LeastPair& a, const LeastPair& b) {
        return a.cost_ns != b.cost_ns ? a.cost_ns < b.cost_ns : a.pair < b.pair;
      });
      ASSERT_EQ(tree.winner(), *least) << count;
      if (step % 50 == 0) {
        tree.Reset(pairs);
        ASSERT_EQ(tree.winner(), *least) << count;
      }
    }
  }
}

}  // namespace
}  // namespace copse::planner
