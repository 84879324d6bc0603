// SPDX-License-Identifier: Apache-2.0
//
// A heap of due times of a fixed set of items.
#ifndef COPSE_TESTBED_FABRIC_DUE_HEAP_H_
#define COPSE_TESTBED_FABRIC_DUE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace copse::fabric {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A binary heap of the items 0 to count-1 with a time each, at first kNever; equal times in order of the items.
// Nothing is allocated after construction. Thread-compatible.
class DueHeap {
 public:
  explicit DueHeap(uint32_t count) : due_(count, kNever), heap_(count), place_(count) {
    std::iota(heap_.begin(), heap_.end(), 0u);
    std::iota(place_.begin(), place_.end(), 0u);
  }

  // Sets the time of `item`. Cost: O(log count).
  void Set(uint32_t item, int64_t due) {
    if (due_[item] == due) return;
    const bool earlier = due < due_[item];
    due_[item] = due;
    earlier ? Rise(place_[item]) : Sink(place_[item]);
  }

  // Returns the earliest item. Precondition: the heap is not empty.
  uint32_t first() const { return heap_[0]; }
  int64_t first_due() const { return heap_.empty() ? kNever : due_[heap_[0]]; }

 private:
  bool Before(uint32_t a, uint32_t b) const { return due_[a] != due_[b] ? due_[a] < due_[b] : a < b; }
  void Put(size_t place, uint32_t item) {
    heap_[place] = item;
    place_[item] = static_cast<uint32_t>(place);
  }
  void Rise(size_t place) {
    const uint32_t item = heap_[place];
    for (; place > 0 && Before(item, heap_[(place - 1) / 2]); place = (place - 1) / 2) {
      Put(place, heap_[(place - 1) / 2]);
    }
    Put(place, item);
  }
  void Sink(size_t place) {
    const uint32_t item = heap_[place];
    for (;;) {
      size_t child = 2 * place + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && Before(heap_[child + 1], heap_[child])) ++child;
      if (!Before(heap_[child], item)) break;
      Put(place, heap_[child]);
      place = child;
    }
    Put(place, item);
  }

  std::vector<int64_t> due_;     // by item
  std::vector<uint32_t> heap_;   // items
  std::vector<uint32_t> place_;  // by item: its index in heap_
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_DUE_HEAP_H_
