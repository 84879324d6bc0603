// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_THREADS_TURN_COUNTS_H_
#define COPSE_PLANNER_THREADS_TURN_COUNTS_H_

#include "absl/time/time.h"
#include "base/histogram.h"

namespace copse::planner {

// TurnCounts count the turns of the planner's thread by the processor time that each takes: waiting, and threads that
// take the core away, do not lengthen a turn. Calls follow Begin End*, all on that thread.
class TurnCounts {
 public:
  void Begin();
  // Ends a turn, and begins the next one.
  void End();

  const Histogram& cpu_ns() const { return cpu_ns_; }
  absl::Time longest_at() const { return longest_at_; }  // date of the longest turn's end; InfinitePast: no turn ended

 private:
  absl::Duration begun_;  // the thread's processor time
  Histogram cpu_ns_;
  absl::Time longest_at_ = absl::InfinitePast();
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_TURN_COUNTS_H_
