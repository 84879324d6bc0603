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
// - relocate: a subtree that is served on the critical path, or before its next node, moves to a sender that can still
//   serve it in time;
// - swap: two nodes exchange places, each taking the other's children.
//
// A move is taken if the critical path gets shorter and no other path becomes as long as the old one; for most swaps
// this is decided without making them. If there is none, Shake makes a few moves at random, and the search continues
// from there. Every candidate examined counts as a step, so that the same budget gives the same tree on every machine.
//
// Calls: (Improve | Shake)*; Time and Take are legal at any time. Thread-compatible; the costs must outlive it.
class TreeSearch {
 public:
  TreeSearch(const BroadcastCosts* costs, const BroadcastTree& start);

  int64_t Time() const { return time_[root_]; }
  BroadcastTree Take() const;

  // Makes moves until no move helps or `*steps`, which it counts down, is used up.
  void Improve(Prng* prng, int64_t* steps);
  // Makes a few random relocations and swaps.
  void Shake(Prng* prng, uint32_t moves);

 private:
  struct Child {
    uint32_t node;
    int64_t busy_ns;    // busy time of the parent
    int64_t travel_ns;  // from then until the child has it
    int64_t tail_ns;    // from then until its whole subtree has it
  };

  Child MakeChild(uint32_t parent, uint32_t node) const;
  // Returns how long v's subtree would take with one more child.
  int64_t TimeWith(uint32_t v, const Child& extra) const;
  int64_t TimeOf(uint32_t v) const;
  // Returns how long the subtree would take if `node` were at `place`.
  int64_t TimeAs(uint32_t place, uint32_t node) const;
  // Returns when the subtree of `place`'s parent would end if `node` were at `place`; `limit` if that is not before
  // `limit`.
  int64_t EndWith(uint32_t place, uint32_t node, int64_t limit) const;
  // Returns the child on which v's time depends.
  size_t CriticalChild(uint32_t v) const;
  void Insert(uint32_t v, const Child& child);
  void Remove(uint32_t v, uint32_t node);
  // Updates the time of v, whose children have changed, and of the nodes above it.
  void Refresh(uint32_t v);
  void Relocate(uint32_t node, uint32_t to);
  void Swap(uint32_t a, uint32_t b);
  bool IsBelow(uint32_t v, uint32_t ancestor) const {
    return enter_[ancestor] <= enter_[v] && enter_[v] < leave_[ancestor];
  }
  // Computes arrivals, and places in a walk of the tree.
  void Walk();
  bool TryRelocations(int64_t* steps);
  bool TrySwaps(Prng* prng, int64_t* steps);

  const BroadcastCosts* costs_;
  uint32_t root_;
  std::vector<std::vector<Child>> children_;  // by falling tail
  std::vector<uint32_t> parent_;
  std::vector<int64_t> time_;  // by node: its subtree, from when its top has the message
  std::vector<int64_t> arrival_;
  std::vector<uint32_t> enter_, leave_, walk_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_SEARCH_H_
