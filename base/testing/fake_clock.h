// SPDX-License-Identifier: Apache-2.0
//
// A clock that moves only when a test moves it.

#ifndef COPSE_BASE_TESTING_FAKE_CLOCK_H_
#define COPSE_BASE_TESTING_FAKE_CLOCK_H_

#include "absl/time/time.h"
#include "base/check.h"
#include "base/clock.h"

namespace copse {

// Starts at absl::UnixEpoch() by default. Thread-compatible.
class FakeClock final : public Clock {
 public:
  FakeClock() = default;
  explicit FakeClock(absl::Time now) : now_(now) {}

  absl::Time Now() const override { return now_; }

  // Precondition: `duration` >= 0.
  void Advance(absl::Duration duration) {
    CHECK_GE(duration, absl::ZeroDuration());
    now_ += duration;
  }

  // Precondition: `time` >= Now().
  void AdvanceTo(absl::Time time) {
    CHECK_GE(time, now_);
    now_ = time;
  }

 private:
  absl::Time now_ = absl::UnixEpoch();
};

}  // namespace copse

#endif  // COPSE_BASE_TESTING_FAKE_CLOCK_H_
