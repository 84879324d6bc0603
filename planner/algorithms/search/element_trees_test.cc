// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/element_trees.h"

#include <algorithm>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

// Adds a range of `count` absent elements, of ascending stream_ns.
ElementRange AddRange(ElementTrees* trees, uint32_t count, Prng* prng) {
  int64_t stream_ns = 0;
  for (uint32_t i = 0; i < count; ++i) {
    stream_ns += static_cast<int64_t>(prng->Below(3));
    trees->Add({kAbsent, stream_ns, kNobody, 0});
  }
  return trees->EndRange();
}

// Makes the element of `node` a sender, a receiver or absent.
void Change(Element* element, uint32_t node, Prng* prng) {
  const uint64_t kind = prng->Below(4);
  element->key = kind == 0 ? kAbsent : static_cast<int64_t>(prng->Below(10));
  element->who = kind == 0 ? kNobody : node;
  element->kind_and_group = kind == 1 ? Element::kSender : 0;
}

LeastPair BestPlainly(const ElementTrees& trees, const ElementRange& range) {
  LeastPair best;
  for (uint32_t s = range.first; s < range.last; ++s) {
    for (uint32_t r = range.first; r < range.last; ++r) {
      const Element &from = trees[s], &to = trees[r];
      if (!from.sends() || to.sends() || from.key == kAbsent || to.key == kAbsent) continue;
      best.Take(from.key + std::max(from.stream_ns, to.stream_ns) + to.key, LeastPair::PairOf(from.who, to.who));
    }
  }
  return best;
}

template <bool kReceivers>
Least LeastPlainly(const ElementTrees& trees, uint32_t first, uint32_t last) {
  Least least;
  for (uint32_t e = first; e < last; ++e) {
    if (trees[e].sends() != kReceivers) least.Take(trees[e].key, trees[e].who);
  }
  return least;
}

// An absent value may have any node.
uint32_t NodeOf(const Least& least) { return least.value < kAbsent ? least.who : kNobody; }

void CheckRange(const ElementTrees& trees, const ElementRange& range, Prng* prng) {
  const LeastPair best = BestPlainly(trees, range);
  if (best.cost_ns < kAbsent) {
    ASSERT_EQ(trees.SummaryOf(range).best, best);
  } else {
    ASSERT_GE(trees.SummaryOf(range).best.cost_ns, kAbsent);
  }
  const auto count = range.last - range.first;
  const uint32_t first = range.first + static_cast<uint32_t>(prng->Below(count + 1));
  const uint32_t last = first + static_cast<uint32_t>(prng->Below(range.last - first + 1));
  ASSERT_EQ(NodeOf(trees.LeastOf<true>(range, first, last)), NodeOf(LeastPlainly<true>(trees, first, last)));
  ASSERT_EQ(NodeOf(trees.LeastOf<false>(range, first, last)), NodeOf(LeastPlainly<false>(trees, first, last)));
  uint32_t receiver = first;
  while (receiver < range.last && (trees[receiver].sends() || trees[receiver].key == kAbsent)) ++receiver;
  ASSERT_EQ(trees.FirstReceiver(range, first), receiver);
  const auto stream_ns = static_cast<int64_t>(prng->Below(2 * count + 1));
  uint32_t beyond = range.first;
  while (beyond < range.last && trees[beyond].stream_ns <= stream_ns) ++beyond;
  ASSERT_EQ(trees.FirstBeyond(range, stream_ns), beyond);
}

TEST(ElementTreesTest, WithoutKeysNothingIsFound) {
  ElementTrees trees;
  Prng prng(1);
  const ElementRange range = AddRange(&trees, 20, &prng);
  trees.Sum(range);
  EXPECT_GE(trees.SummaryOf(range).best.cost_ns, kAbsent);
  EXPECT_EQ(trees.LeastOf<true>(range, range.first, range.last).who, kNobody);
  EXPECT_EQ(trees.FirstReceiver(range, range.first), range.last);
}

TEST(ElementTreesTest, FindsWhatPlainLoopsFindAfterEachChange) {
  for (uint32_t count = 1; count <= 40; ++count) {
    Prng prng(count);
    ElementTrees trees;
    AddRange(&trees, 5, &prng);
    const ElementRange range = AddRange(&trees, count, &prng);
    AddRange(&trees, 11, &prng);
    for (uint32_t e = range.first; e < range.last; ++e) Change(&trees[e], e, &prng);
    trees.Sum(range);
    for (int step = 0; step < 100; ++step) {
      const uint32_t a = range.first + static_cast<uint32_t>(prng.Below(count));
      const uint32_t b = range.first + static_cast<uint32_t>(prng.Below(count));
      const LeastPair before = trees.SummaryOf(range).best;
      Change(&trees[a], a, &prng);
      if (step % 2 == 1) Change(&trees[b], b, &prng);
      const bool changed = step % 2 == 1 ? trees.Update(range, a, b) : trees.Update(range, a);
      ASSERT_NO_FATAL_FAILURE(CheckRange(trees, range, &prng)) << "count " << count << ", step " << step;
      if (!changed) {
        ASSERT_EQ(trees.SummaryOf(range).best, before);
      }
    }
  }
}

}  // namespace
}  // namespace copse::planner
