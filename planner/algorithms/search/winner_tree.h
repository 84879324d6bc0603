// SPDX-License-Identifier: Apache-2.0
//
// Keeps the cheapest of many pairs, each of which may change.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_WINNER_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_WINNER_TREE_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "base/process/huge_pages.h"
#include "planner/algorithms/search/least.h"

namespace copse::planner {

// A WinnerTree holds a pair for each of `count` entrants, and the winner of all. Thread-compatible.
//
// Cost: O(log count) per change, less if it makes no difference further up; O(count) memory.
class WinnerTree {
 public:
  explicit WinnerTree(size_t count);

  const LeastPair& winner() const { return tree_[1]; }
  void Set(size_t entrant, const LeastPair& pair);
  // Replaces all pairs, by entrant. Cost: O(count).
  void Reset(absl::Span<const LeastPair> pairs);

 private:
  size_t leaf_count_ = 1;
  LargeVector<LeastPair> tree_;  // node k, from 1, wins over nodes 2k and 2k + 1; leaves begin at leaf_count_
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_WINNER_TREE_H_
