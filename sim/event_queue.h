// SPDX-License-Identifier: Apache-2.0
//
// Keeps future events in a fixed order.
#ifndef COPSE_SIM_EVENT_QUEUE_H_
#define COPSE_SIM_EVENT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace copse::sim {

// An EventQueue returns events in the order of `Key` (a time, or a time and its tie-breakers), and events of equal
// keys in the order in which they were pushed. Push and Pop cost O(log size). Thread-compatible.
template <typename Key, typename Payload>
class EventQueue {
 public:
  struct Event {
    Key key;
    uint64_t sequence;  // number of its Push
    Payload payload;
  };

  void Push(Key key, Payload payload) {
    heap_.push_back(Event{std::move(key), next_sequence_++, std::move(payload)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  // Returns the first event, which stays. Precondition, also of Pop: the queue is not empty.
  const Event& Top() const { return heap_.front(); }
  Event Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    return event;
  }
  bool empty() const { return heap_.empty(); }

 private:
  static bool Later(const Event& a, const Event& b) { return a.key != b.key ? a.key > b.key : a.sequence > b.sequence; }

  std::vector<Event> heap_;
  uint64_t next_sequence_ = 0;
};

}  // namespace copse::sim

#endif  // COPSE_SIM_EVENT_QUEUE_H_
