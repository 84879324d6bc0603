// SPDX-License-Identifier: Apache-2.0
//
// Defines time as an interface: production reads the kernel's monotonic clock, while tests and the simulator have
// clocks of their own.

#ifndef COPSE_BASE_CLOCK_H_
#define COPSE_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace copse {

// A Clock's time never goes back. Its origin is arbitrary, so times may be compared and subtracted, but not printed or
// sent. Implementations state which threads may call Now().
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// A MonotonicClock reads CLOCK_MONOTONIC, counted from absl::UnixEpoch(). Thread-safe; all instances agree.
class MonotonicClock final : public Clock {
 public:
  absl::Time Now() const override;
};

// A BootClock reads CLOCK_BOOTTIME, which goes on while the machine is suspended; otherwise like MonotonicClock.
class BootClock final : public Clock {
 public:
  absl::Time Now() const override;
};

}  // namespace copse

#endif  // COPSE_BASE_CLOCK_H_
