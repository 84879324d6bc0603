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

// A TreeSearch holds one tree, whose children are always served by falling tail (falling_tail.h), and makes moves that
// make it faster:
//
// - relocate: a subtree on the critical path, or one that a sender on that path serves before the path's next node,
//   moves to a sender that can serve it in time;
// - swap: two nodes exchange places, and with them their children.
//
// A move is made if the critical path gets shorter and no other path becomes as long as the old one; for most swaps
// this is decided without making them. When no move helps, the caller may Shake the tree and Improve it again. Steps
// count the examined candidates approximately, and no time is measured, so the result is equal on every machine.
//
// Calls may come in any order. Thread-compatible; the costs must outlive it.
class TreeSearch {
 public:
  TreeSearch(const BroadcastCosts* costs, const BroadcastTree& start);

  // Returns the completion time of the tree in ns.
  int64_t Time() const { return time_[root_]; }
  // Returns the tree, with edges in breadth-first order.
  BroadcastTree Take() const;

  // Makes moves until no move helps or `*steps`, which it counts down, is used up; it may become negative.
  void Improve(Prng* prng, int64_t* steps);
  // Makes a few random relocations and swaps.
  void Shake(Prng* prng, uint32_t moves);

 private:
  struct Child {
    uint32_t node;
    int64_t busy_ns;    // busy time of the parent
    int64_t travel_ns;  // time from then until the child has the message
    int64_t tail_ns;    // time from then until the child's whole subtree has the message
  };

  Child MakeChild(uint32_t parent, uint32_t node) const;
  // Return the duration of v's subtree after v has the message; TimeWith, if v had one more child.
  int64_t TimeWith(uint32_t v, const Child& extra) const;
  int64_t TimeOf(uint32_t v) const;
  // Returns the duration of the subtree of `place` if `node` were in its place.
  int64_t TimeAs(uint32_t place, uint32_t node) const;
  // Returns the time at which the subtree of `place`'s parent would end if `node` were in the place of `place`; `limit`
  // or more if that is not before `limit`.
  int64_t EndWith(uint32_t place, uint32_t node, int64_t limit) const;
  // Returns the index of the child on which the time of v depends.
  size_t CriticalChild(uint32_t v) const;
  void Insert(uint32_t v, const Child& child);
  void Remove(uint32_t v, uint32_t node);
  // Updates the time of v, whose children have changed, and those of the nodes above v.
  void Refresh(uint32_t v);
  void Relocate(uint32_t node, uint32_t to);
  void Swap(uint32_t a, uint32_t b);
  bool IsBelow(uint32_t v, uint32_t ancestor) const {
    return enter_[ancestor] <= enter_[v] && enter_[v] < leave_[ancestor];
  }
  // Computes arrivals, and the depth-first numbers that IsBelow uses. Moves make them stale.
  void Walk();
  // Make the best relocation, or a swap that helps. Return whether there was one. Requires a Walk before.
  bool TryRelocations(int64_t* steps);
  bool TrySwaps(Prng* prng, int64_t* steps);

  const BroadcastCosts* costs_;
  uint32_t root_;
  std::vector<std::vector<Child>> children_;  // by falling tail
  std::vector<uint32_t> parent_;
  std::vector<int64_t> time_;  // by node: duration of its subtree after the node has the message
  std::vector<int64_t> arrival_;
  std::vector<uint32_t> enter_, leave_, walk_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_SEARCH_H_
