// SPDX-License-Identifier: Apache-2.0
//
// Accounts for the commits of a store: how long they take, how many fail, and since when.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_COMMIT_OUTCOMES_H_
#define COPSE_PLANNER_COORDINATOR_STATE_COMMIT_OUTCOMES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/histogram.h"

namespace copse::coordinator {

// CommitOutcomes is told of each commit's begin and end, one after the other, and logs the first failure, failures for
// another reason, one a minute of the others, and the end of them. Thread-compatible.
class CommitOutcomes {
 public:
  explicit CommitOutcomes(const Clock* clock) : clock_(clock) {}  // `clock` must outlive this object

  void Begin() { began_ = clock_->Now(); }
  // The commit has ended, with `changes` that are stored or that wait on.
  void Succeed(size_t changes);
  void Fail(const absl::Status& status, size_t changes);

  // Returns OK, or why the last commit failed.
  const absl::Status& error() const { return error_; }
  // Returns the time since the first of the failures that no success has followed, or zero.
  absl::Duration failing_for() const;
  const Histogram& times_ns() const { return times_ns_; }  // of commits that succeeded
  uint64_t failures() const { return failures_; }

 private:
  const Clock* const clock_;
  absl::Time began_;
  absl::Status error_;
  absl::Time fails_since_ = absl::InfiniteFuture();
  absl::Time complained_ = absl::InfinitePast();
  Histogram times_ns_;
  uint64_t failures_ = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_COMMIT_OUTCOMES_H_
