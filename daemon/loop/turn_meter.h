// SPDX-License-Identifier: Apache-2.0
//
// Measures the longest turn of a loop.
#ifndef COPSE_DAEMON_LOOP_TURN_METER_H_
#define COPSE_DAEMON_LOOP_TURN_METER_H_

#include <cstdint>

#include "absl/time/time.h"

namespace copse::daemon {

// A TurnMeter measures the turns of a thread by the processor time that each takes: waiting, and threads that take the
// core away, do not lengthen a turn. A turn is the time between two calls of Mark. All calls come from that thread.
//
// Reading the processor time is a system call, which is too slow for every turn. So it is read at most once in
// kReadEvery, and a turn of less than kReadEvery is not measured. Another turn's length is at most kReadEvery too high.
class TurnMeter {
 public:
  static constexpr absl::Duration kReadEvery = absl::Microseconds(250);
  static constexpr absl::Duration kLong = absl::Milliseconds(2);

  // `now` is a reading of the thread's monotonic clock. The first call begins the first turn.
  void Mark(absl::Time now) {
    const absl::Duration wall = now - marked_;
    marked_ = now;
    if (now - read_ >= kReadEvery) Read(now, wall);
  }

  // Returns the processor time of the longest turn; 0: none took kReadEvery.
  absl::Duration longest() const { return longest_; }
  // Returns the number of turns that took kLong or more.
  uint64_t long_turns() const { return long_turns_; }

 private:
  void Read(absl::Time now, absl::Duration wall);

  absl::Time marked_ = absl::InfinitePast();
  absl::Time read_ = absl::InfinitePast();
  absl::Duration cpu_;  // at read_
  absl::Duration longest_;
  uint64_t long_turns_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_TURN_METER_H_
