// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_items.h"

#include <deque>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

TEST(CostItemsTest, EachNodesQueueIsInOrder) {
  constexpr uint32_t kNodes = 3;
  CostItems items(kNodes);
  std::vector<std::deque<uint32_t>> expected(kNodes);
  Prng prng(1);
  for (uint32_t step = 0; step < 1000; ++step) {
    const auto node = static_cast<uint32_t>(prng.Below(kNodes));
    ASSERT_EQ(items.Has(node), !expected[node].empty());
    if (items.Has(node) && prng.Below(2) == 0) {
      ASSERT_EQ(items.Take(node).packet, expected[node].front());
      expected[node].pop_front();
    } else {
      items.Add(node, {0, 0, 0, step, CostItem::Kind::kPacket});
      expected[node].push_back(step);
    }
  }
}

}  // namespace
}  // namespace copse::planner
