// SPDX-License-Identifier: Apache-2.0
//
// Detects whether another thread wants the core on which the caller spins.
#ifndef COPSE_BASE_PROCESS_CORE_WATCH_H_
#define COPSE_BASE_PROCESS_CORE_WATCH_H_

#include <algorithm>
#include <cstdint>

namespace copse {

// A spinning thread yields at every round (sched_yield). A short yield found no other runnable thread, or one with
// little to do: spinning costs nothing then, and spares both sides a wake-up. A yield as long as a time slice found a
// thread that computes; besides, the kernel charges the yielding thread a slice, so that it stays behind after its
// next wake-up too (measured: 4 ms per call beside computing processes instead of 0.3). So a long yield forbids
// spinning for a pause, which doubles with each long yield that follows soon after: so long yields take a negligible
// share of the time.
//
// Times are nanoseconds of one monotonic clock. Thread-compatible.
class CoreWatch {
 public:
  static constexpr int64_t kYieldLongNs = 500'000;
  static constexpr int64_t kPauseMinNs = 500'000'000;
  static constexpr int64_t kPauseMaxNs = 10'000'000'000;

  // Returns whether the caller may spin now.
  bool MaySpin(int64_t now_ns) const { return now_ns >= paused_until_ns_; }

  // Records a yield of `took_ns` that has just ended. Returns true if the caller must stop spinning.
  bool OnYielded(int64_t now_ns, int64_t took_ns) {
    if (took_ns < kYieldLongNs) return false;
    // The last pause ended longer ago than it lasted, so this long yield has another cause.
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

#endif  // COPSE_BASE_PROCESS_CORE_WATCH_H_
