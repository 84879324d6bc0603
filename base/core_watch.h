// SPDX-License-Identifier: Apache-2.0
//
// Whether somebody else wants the core on which we spin.
#ifndef COPSE_BASE_CORE_WATCH_H_
#define COPSE_BASE_CORE_WATCH_H_

#include <algorithm>
#include <cstdint>

namespace copse {

// Who spins yields at every round (sched_yield). A yield that soon comes back went to nobody, or to somebody who had
// little to do: spinning costs nothing then, and spares both sides a wake-up. One that took a time slice went to
// somebody who computes; besides, the kernel charges the yielder a slice, so that it stays behind after its next
// wake-up too (measured: 4 ms a call beside computing processes instead of 0.3). So a long yield forbids spinning for
// a pause, which doubles with each one that follows soon after, up to a share of time that nobody notices.
//
// Times are nanoseconds of one monotonic clock. Thread-compatible.
class CoreWatch {
 public:
  static constexpr int64_t kYieldLongNs = 500'000;
  static constexpr int64_t kPauseMinNs = 500'000'000;
  static constexpr int64_t kPauseMaxNs = 10'000'000'000;

  // Whether to spin now.
  bool MaySpin(int64_t now_ns) const { return now_ns >= paused_until_ns_; }

  // A yield that took so long has just ended. True: stop spinning.
  bool OnYielded(int64_t now_ns, int64_t took_ns) {
    if (took_ns < kYieldLongNs) return false;
    // Left alone for longer than the last pause: that was somebody else.
    if (now_ns - paused_until_ns_ > pause_ns_) pause_ns_ = 0;
    pause_ns_ = std::clamp(2 * pause_ns_, kPauseMinNs, kPauseMaxNs);
    paused_until_ns_ = now_ns + pause_ns_;
    return true;
  }

 private:
  int64_t pause_ns_ = 0;
  int64_t paused_until_ns_ = 0;
};

}  // namespace copse

#endif  // COPSE_BASE_CORE_WATCH_H_
