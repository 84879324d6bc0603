// SPDX-License-Identifier: Apache-2.0
//
// Defines a queue of steps of which one is run a turn.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_BACKLOG_H_
#define COPSE_PLANNER_COORDINATOR_STATE_BACKLOG_H_

#include <deque>
#include <functional>
#include <utility>

namespace copse::coordinator {

// A Backlog has the steps of work that is too long for one turn: all daemons wait while a turn lasts.
// Thread-compatible.
class Backlog {
 public:
  void Add(std::function<void()> step) { steps_.push_back(std::move(step)); }
  // Runs the oldest step, if there is one; it may add others.
  void RunOne() {
    if (steps_.empty()) return;
    const std::function<void()> step = std::move(steps_.front());
    steps_.pop_front();
    step();
  }
  bool empty() const { return steps_.empty(); }

 private:
  std::deque<std::function<void()>> steps_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_BACKLOG_H_
