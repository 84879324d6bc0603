// SPDX-License-Identifier: Apache-2.0
//
// The due times of a fixed set of items, in order.
#ifndef COPSE_TESTBED_FABRIC_DUE_TIMES_H_
#define COPSE_TESTBED_FABRIC_DUE_TIMES_H_

#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace copse::fabric {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The items 0 to count-1 with a time each, at first kNever; equal times are in the order of the items. Nothing is
// allocated after construction. Thread-compatible.
class DueTimes {
 public:
  explicit DueTimes(uint32_t count) : due_(count, kNever) {
    for (uint32_t item = 0; item < count; ++item) order_.emplace_hint(order_.end(), kNever, item);
  }

  // Sets the time of `item`. Cost: O(log count).
  void Set(uint32_t item, int64_t due) {
    if (due_[item] == due) return;
    auto node = order_.extract({due_[item], item});
    node.value().first = due_[item] = due;
    order_.insert(std::move(node));
  }

  // Returns the earliest item. Precondition: there is an item.
  uint32_t first() const { return order_.begin()->second; }
  int64_t first_due() const { return order_.empty() ? kNever : order_.begin()->first; }

 private:
  std::vector<int64_t> due_;  // by item
  std::set<std::pair<int64_t, uint32_t>> order_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_DUE_TIMES_H_
