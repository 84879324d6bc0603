// SPDX-License-Identifier: Apache-2.0
//
// Remembers what happened to nodes and teams last, for administrators.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_EVENT_LOG_H_
#define COPSE_PLANNER_COORDINATOR_STATE_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/time/time.h"

namespace copse::coordinator {

struct Event {
  uint64_t number = 0;  // from 1, without gaps
  absl::Time time;      // of the coordinator's clock
  std::string who;      // "node n1", "team 7"
  std::string what;     // "away", "broken"
  std::string detail;
};

// An EventLog holds the last kMax events. Thread-compatible.
class EventLog {
 public:
  static constexpr size_t kMax = 4096;

  void Note(absl::Time now, std::string who, std::string what, std::string detail) {
    events_.push_back({++last_, now, std::move(who), std::move(what), std::move(detail)});
    if (events_.size() > kMax) events_.pop_front();
  }
  // In the order in which they happened.
  const std::deque<Event>& events() const { return events_; }

 private:
  std::deque<Event> events_;
  uint64_t last_ = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_EVENT_LOG_H_
