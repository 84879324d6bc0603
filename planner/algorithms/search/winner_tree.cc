// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/winner_tree.h"

#include <algorithm>
#include <bit>

namespace copse::planner {

WinnerTree::WinnerTree(size_t count) : leaf_count_(std::bit_ceil(count)), tree_(2 * leaf_count_) {}

void WinnerTree::Set(size_t entrant, const LeastPair& pair) {
  size_t k = leaf_count_ + entrant;
  if (tree_[k] == pair) return;
  tree_[k] = pair;
  for (k /= 2; k >= 1; k /= 2) {
    LeastPair winner = tree_[2 * k];
    winner.Take(tree_[2 * k + 1]);
    if (tree_[k] == winner) return;
    tree_[k] = winner;
  }
}

void WinnerTree::Reset(absl::Span<const LeastPair> pairs) {
  std::fill(std::copy(pairs.begin(), pairs.end(), tree_.begin() + static_cast<ptrdiff_t>(leaf_count_)), tree_.end(),
            LeastPair{});
  for (size_t k = leaf_count_; k-- > 1;) {
    tree_[k] = tree_[2 * k];
    tree_[k].Take(tree_[2 * k + 1]);
  }
}

}  // namespace copse::planner
