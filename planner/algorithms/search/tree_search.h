// SPDX-License-Identifier: Apache-2.0
//
// Makes a broadcast tree faster by moving nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_SEARCH_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// A TreeSearch holds one tree, whose children are always served by falling tail (falling_tail.h), and looks for moves
// that make it faster:
//
// - relocate: a subtree that is served on the critical path, or before its next node, goes to a sender where it is
//   over in time;
// - swap: two nodes change places, each taking the other's children.
//
// A move is taken if the critical path gets shorter and nothing else becomes as long as it was; for most swaps, too,
// that is known without making them. When there is none,
// Shake makes a few at random, and the search goes on from there. What is looked at counts as steps, so that the same
// budget gives the same tree on every machine.
//
// Calls: (Improve | Shake)*, Time and Take at any time. Thread-compatible; the costs must outlive it.
class TreeSearch {
 public:
  TreeSearch(const BroadcastCosts* costs, const BroadcastTree& start);

  int64_t Time() const { return time_[root_]; }
  BroadcastTree Take() const;

  // Moves until no move helps, or `*steps` are used up, which it counts down.
  void Improve(Prng* prng, int64_t* steps);
  // A few random relocations and swaps.
  void Shake(Prng* prng, uint32_t moves);

 private:
  struct Child {
    uint32_t node;
    int64_t busy_ns;    // of the parent
    int64_t travel_ns;  // from then until the child has it
    int64_t tail_ns;    // from then until its whole subtree has it
  };

  Child MakeChild(uint32_t parent, uint32_t node) const;
  // How long v's subtree would take with one more child.
  int64_t TimeWith(uint32_t v, const Child& extra) const;
  int64_t TimeOf(uint32_t v) const;
  // How long its subtree would take if `node` stood there.
  int64_t TimeAs(uint32_t place, uint32_t node) const;
  // When the subtree of `place`'s parent would be over if `node` stood there; `limit` if that is no earlier than it.
  int64_t EndWith(uint32_t place, uint32_t node, int64_t limit) const;
  // The child on which v's time depends.
  size_t CriticalChild(uint32_t v) const;
  void Insert(uint32_t v, const Child& child);
  void Remove(uint32_t v, uint32_t node);
  // v's children have changed: brings its time, and those above, up to date.
  void Refresh(uint32_t v);
  void Relocate(uint32_t node, uint32_t to);
  void Swap(uint32_t a, uint32_t b);
  bool IsBelow(uint32_t v, uint32_t ancestor) const {
    return enter_[ancestor] <= enter_[v] && enter_[v] < leave_[ancestor];
  }
  // Arrivals, and places in a walk of the tree.
  void Walk();
  bool TryRelocations(int64_t* steps);
  bool TrySwaps(Prng* prng, int64_t* steps);

  const BroadcastCosts* costs_;
  uint32_t root_;
  std::vector<std::vector<Child>> children_;  // by falling tail
  std::vector<uint32_t> parent_;
  std::vector<int64_t> time_;  // of a subtree, from when its top has the message
  std::vector<int64_t> arrival_;
  std::vector<uint32_t> enter_, leave_, walk_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_SEARCH_H_
