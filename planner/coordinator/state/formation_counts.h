// SPDX-License-Identifier: Apache-2.0
//
// Counts how the formations of teams end.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_FORMATION_COUNTS_H_
#define COPSE_PLANNER_COORDINATOR_STATE_FORMATION_COUNTS_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "base/histogram.h"
#include "protocol/control.h"

namespace copse::coordinator {

// FormationCounts has the results of all formations since the planner's start, those of derived teams included.
// Thread-compatible.
class FormationCounts {
 public:
  // `took` counts from the last join to the decision, so it has the planner's and the daemons' time alone.
  void NoteFormed(absl::Duration took) {
    time_ns_.Record(static_cast<uint64_t>(std::max<int64_t>(absl::ToInt64Nanoseconds(took), 0)));
  }
  // `again`: the obstacle was transient, and the daemons request the team again.
  void NoteUnformed(const schedule::FailureReport& why, bool again = false) {
    ++(again || why.failure == schedule::Failure::kCanceled ? canceled_ : failed_);
  }

  uint64_t formed() const { return time_ns_.count(); }
  uint64_t failed() const { return failed_; }
  // Returns how many ended because a member withdrew, or because of a transient obstacle.
  uint64_t canceled() const { return canceled_; }
  const Histogram& time_ns() const { return time_ns_; }  // of the formed teams

 private:
  uint64_t failed_ = 0;
  uint64_t canceled_ = 0;
  Histogram time_ns_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_FORMATION_COUNTS_H_
