// SPDX-License-Identifier: Apache-2.0
//
// Finds the least sender, the least receiver and the best pair among what each switch of a cluster has below it.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_ELEMENT_TREES_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_ELEMENT_TREES_H_

#include <cstddef>
#include <cstdint>

#include "base/process/huge_pages.h"
#include "planner/algorithms/search/least.h"

namespace copse::planner {

// An Element is an entry of a switch: a child that is a node, which sends or receives; or one half of a class of
// nodes below a child switch. Such a class has two elements, the least sender and, next to it, the least receiver.
struct Element {
  static constexpr uint32_t kSender = 0x80000000;

  int64_t key = kAbsent;
  int64_t stream_ns = 0;        // Stream of the path to this switch
  uint32_t who = kNobody;       // kNobody if absent
  uint32_t kind_and_group = 0;  // kSender, and the element's group at this switch

  bool sends() const { return (kind_and_group & kSender) != 0; }
  uint32_t group() const { return kind_and_group & ~kSender; }
};

// An ElementRange is a switch's elements, [first, last), which ascend by stream_ns, and their tree.
struct ElementRange {
  uint32_t first = 0, last = 0;
  uint32_t tree_first = 0, leaf_count = 1;  // node k of the balanced tree, from 1, is at tree_first + k - 1
};

// ElementTrees holds the elements of all switches, and over each switch's elements a balanced tree of summaries. The
// best pair is the one of least key(s) + max(Stream(s), Stream(r)) + key(r). Thread-compatible.
//
// A change of an element by operator[] takes effect with the next Update of it, or Sum of its range.
//
// Cost: O(log elements) for each function but Sum and those of O(1). A summary is one cache line, and minima are
//       computed without branches.
class ElementTrees {
 public:
  // A Summary has the least sender and receiver of a range of elements, without and with their stream_ns, and the best
  // pair.
  struct alignas(64) Summary {
    int64_t sender = kAbsent, sender_stream = kAbsent, receiver = kAbsent, receiver_stream = kAbsent;
    uint32_t sender_who = kNobody, sender_stream_who = kNobody, receiver_who = kNobody, receiver_stream_who = kNobody;
    LeastPair best;
    friend bool operator==(const Summary&, const Summary&) = default;
  };

  // Adds an element to the range that the next EndRange returns.
  void Add(const Element& element) { elements_.push_back(element); }
  ElementRange EndRange();

  uint32_t size() const { return static_cast<uint32_t>(elements_.size()); }
  void reserve(size_t count) { elements_.reserve(count); }
  Element& operator[](uint32_t element) { return elements_[element]; }
  const Element& operator[](uint32_t element) const { return elements_[element]; }
  const Summary& SummaryOf(const ElementRange& range) const { return trees_[range.tree_first]; }

  // Recomputes all of the range's summaries. Cost: O(elements).
  void Sum(const ElementRange& range);
  // Recompute the summaries above one or two elements. Return true if SummaryOf has changed.
  bool Update(const ElementRange& range, uint32_t element);
  bool Update(const ElementRange& range, uint32_t a, uint32_t b);

  // Returns the least receiver (sender) of the range's elements [first, last).
  template <bool kReceivers>
  Least LeastOf(const ElementRange& range, uint32_t first, uint32_t last) const;
  // Returns the first element from `from` on with a receiver; range.last if there is none.
  uint32_t FirstReceiver(const ElementRange& range, uint32_t from) const;
  // Returns the first element whose stream_ns is greater; range.last if there is none.
  uint32_t FirstBeyond(const ElementRange& range, int64_t stream_ns) const;

 private:
  static constexpr uint32_t kBlock = 8;  // elements per leaf of a balanced tree

  static uint32_t BlockOf(const ElementRange& range, uint32_t element) { return (element - range.first) / kBlock; }
  // Recompute the summary of a block of elements, or of node k of the balanced tree. Return true if it has changed.
  bool SumBlock(const ElementRange& range, uint32_t block);
  bool SumPair(const ElementRange& range, uint32_t k);

  LargeVector<Element> elements_;  // by switch
  LargeVector<Summary> trees_;     // by switch
  uint32_t range_first_ = 0;       // of the next EndRange
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_ELEMENT_TREES_H_
