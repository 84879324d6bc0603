// SPDX-License-Identifier: Apache-2.0
//
// Time as an interface: production reads the kernel's monotonic clock, tests and the simulator have clocks of their
// own.

#ifndef COPSE_BASE_CLOCK_H_
#define COPSE_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace copse {

// A Clock's time never goes back. Its origin is arbitrary: compare and subtract, do not print or send.
// Implementations state which threads may call.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The clock CLOCK_MONOTONIC, counted from absl::UnixEpoch(). Thread-safe; two instances agree.
class MonotonicClock final : public Clock {
 public:
  absl::Time Now() const override;
};

}  // namespace copse

#endif  // COPSE_BASE_CLOCK_H_
