// SPDX-License-Identifier: Apache-2.0
//
// Defines deadlines, the points in time until which threads wait.
#ifndef COPSE_CLIENT_PORT_DEADLINE_H_
#define COPSE_CLIENT_PORT_DEADLINE_H_

#include <algorithm>
#include <chrono>

namespace copse::client {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline constexpr Deadline kNever = Deadline::max();

// Returns kNever for a negative time or one of more than 1e9 s. `seconds` must not be NaN.
inline Deadline DeadlineAfter(double seconds) {
  constexpr double kLongest = 1e9;
  if (seconds < 0 || seconds > kLongest) return kNever;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Returns the deadline, or `slice` from now if that is sooner.
inline Deadline Slice(Deadline deadline, std::chrono::milliseconds slice) {
  return std::min(deadline, Clock::now() + slice);
}

// Returns a time-out for poll(2): at most 60 s, 0 if the deadline is over.
inline int MillisecondsUntil(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, 60'000));
}

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_DEADLINE_H_
