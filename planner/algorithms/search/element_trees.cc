// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/element_trees.h"

#include <algorithm>
#include <bit>

namespace copse::planner {
namespace {

uint64_t PairOf(uint32_t sender, uint32_t receiver) { return LeastPair::PairOf(sender, receiver); }

}  // namespace

ElementRange ElementTrees::EndRange() {
  ElementRange range{range_first_, size(), static_cast<uint32_t>(trees_.size())};
  range.leaf_count = std::bit_ceil((range.last - range.first + kBlock - 1) / kBlock);
  trees_.resize(trees_.size() + 2 * range.leaf_count - 1);
  range_first_ = range.last;
  return range;
}

bool ElementTrees::SumBlock(const ElementRange& range, uint32_t block) {
  Summary sum;
  const uint32_t first = range.first + block * kBlock;
  const uint32_t last = std::min(first + kBlock, range.last);
  for (uint32_t e = first; e < last; ++e) {
    // An element that sends does not receive, and is absent as a receiver.
    const Element& element = elements_[e];
    const int64_t sends = -static_cast<int64_t>(element.kind_and_group >> 31);
    const int64_t sender = kAbsent ^ ((kAbsent ^ element.key) & sends);
    const int64_t receiver = kAbsent ^ ((kAbsent ^ element.key) & ~sends);
    // Pairs the element with those before it in the block.
    sum.best.Take(sender + element.stream_ns + sum.receiver, PairOf(element.who, sum.receiver_who));
    sum.best.Take(receiver + element.stream_ns + sum.sender, PairOf(sum.sender_who, element.who));
    Take(sender, element.who, &sum.sender, &sum.sender_who);
    Take(receiver, element.who, &sum.receiver, &sum.receiver_who);
    Take(sender + element.stream_ns, element.who, &sum.sender_stream, &sum.sender_stream_who);
    Take(receiver + element.stream_ns, element.who, &sum.receiver_stream, &sum.receiver_stream_who);
  }
  Summary& old = trees_[range.tree_first + range.leaf_count + block - 1];
  if (sum == old) return false;
  old = sum;
  return true;
}

bool ElementTrees::SumPair(const ElementRange& range, uint32_t k) {
  const Summary& left = trees_[range.tree_first + 2 * k - 1];
  const Summary& right = trees_[range.tree_first + 2 * k];
  Summary sum = left;
  sum.best.Take(right.best);
  sum.best.Take(left.sender + right.receiver_stream, PairOf(left.sender_who, right.receiver_stream_who));
  sum.best.Take(right.sender_stream + left.receiver, PairOf(right.sender_stream_who, left.receiver_who));
  Take(right.sender, right.sender_who, &sum.sender, &sum.sender_who);
  Take(right.sender_stream, right.sender_stream_who, &sum.sender_stream, &sum.sender_stream_who);
  Take(right.receiver, right.receiver_who, &sum.receiver, &sum.receiver_who);
  Take(right.receiver_stream, right.receiver_stream_who, &sum.receiver_stream, &sum.receiver_stream_who);
  Summary& old = trees_[range.tree_first + k - 1];
  if (sum == old) return false;
  old = sum;
  return true;
}

void ElementTrees::Sum(const ElementRange& range) {
  for (uint32_t block = 0; block < range.leaf_count; ++block) SumBlock(range, block);
  for (uint32_t k = range.leaf_count; k-- > 1;) SumPair(range, k);
}

bool ElementTrees::Update(const ElementRange& range, uint32_t element) {
  const uint32_t block = BlockOf(range, element);
  bool changed = SumBlock(range, block);
  for (uint32_t k = (range.leaf_count + block) / 2; changed && k >= 1; k /= 2) changed = SumPair(range, k);
  return changed;
}

bool ElementTrees::Update(const ElementRange& range, uint32_t a, uint32_t b) {
  uint32_t i = BlockOf(range, a), j = BlockOf(range, b);
  bool i_changed = SumBlock(range, i), j_changed = i == j ? false : SumBlock(range, j);
  for (i += range.leaf_count, j += range.leaf_count; (i_changed || j_changed) && i > 1;) {
    i /= 2, j /= 2;
    if (i == j) {
      i_changed = SumPair(range, i);
      j_changed = false;
    } else {
      i_changed = i_changed && SumPair(range, i);
      j_changed = j_changed && SumPair(range, j);
    }
  }
  return i_changed || j_changed;
}

template <bool kReceivers>
Least ElementTrees::LeastOf(const ElementRange& range, uint32_t first, uint32_t last) const {
  Least least;
  const auto scan = [&](uint32_t from, uint32_t to) {
    for (uint32_t e = from; e < to; ++e) {
      const Element& element = elements_[e];
      least.Take(element.sends() != kReceivers ? element.key : kAbsent, element.who);
    }
  };
  uint32_t left = (first - range.first + kBlock - 1) / kBlock, right = BlockOf(range, last);  // whole blocks
  if (last == range.last) right = range.leaf_count;  // the last block may be short
  if (left > right) left = right;
  scan(first, std::min(last, range.first + left * kBlock));
  scan(std::max(first, range.first + right * kBlock), last);
  for (left += range.leaf_count, right += range.leaf_count; left < right; left /= 2, right /= 2) {
    const auto offer = [&](uint32_t k) {
      const Summary& sum = trees_[range.tree_first + k - 1];
      least.Take(kReceivers ? sum.receiver : sum.sender, kReceivers ? sum.receiver_who : sum.sender_who);
    };
    if (left % 2 == 1) offer(left++);
    if (right % 2 == 1) offer(--right);
  }
  return least;
}

template Least ElementTrees::LeastOf<false>(const ElementRange& range, uint32_t first, uint32_t last) const;
template Least ElementTrees::LeastOf<true>(const ElementRange& range, uint32_t first, uint32_t last) const;

uint32_t ElementTrees::FirstReceiver(const ElementRange& range, uint32_t from) const {
  const auto scan = [&](uint32_t first, uint32_t last) {
    for (uint32_t e = first; e < last; ++e) {
      if (!elements_[e].sends() && elements_[e].key < kAbsent) return e;
    }
    return range.last;
  };
  if (from >= range.last) return range.last;
  const uint32_t block = BlockOf(range, from);
  const uint32_t found = scan(from, std::min(range.last, range.first + (block + 1) * kBlock));
  if (found != range.last) return found;
  // The search goes up until there is a receiver to the right, and then down to the leftmost one.
  const auto has = [&](uint32_t k) { return trees_[range.tree_first + k - 1].receiver < kAbsent; };
  uint32_t k = range.leaf_count + block;
  while (k > 1 && (k % 2 == 1 || !has(k + 1))) k /= 2;
  if (k <= 1) return range.last;
  for (++k; k < range.leaf_count;) k = has(2 * k) ? 2 * k : 2 * k + 1;
  const uint32_t first = range.first + (k - range.leaf_count) * kBlock;
  return scan(first, std::min(range.last, first + kBlock));
}

uint32_t ElementTrees::FirstBeyond(const ElementRange& range, int64_t stream_ns) const {
  const auto begin = elements_.begin();
  return static_cast<uint32_t>(std::upper_bound(begin + range.first, begin + range.last, stream_ns,
                                                [](int64_t s, const Element& e) { return s < e.stream_ns; }) -
                               begin);
}

}  // namespace copse::planner
