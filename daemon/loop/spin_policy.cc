// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/spin_policy.h"

#include <sched.h>
#include <stdio.h>

#include <algorithm>

namespace copse::daemon {
namespace {

constexpr int kCreditMax = 8;
constexpr absl::Duration kAskEvery = absl::Milliseconds(10);
constexpr absl::Duration kPauseMin = absl::Milliseconds(10);
constexpr absl::Duration kPauseMax = absl::Seconds(1);
// A yield that nobody takes returns within a microsecond; one that a time slice took lasts
// milliseconds.
constexpr absl::Duration kYieldLong = absl::Microseconds(500);
// What a wake-up takes, roughly.
constexpr absl::Duration kWake = absl::Microseconds(30);

}  // namespace

SpinPolicy::SpinPolicy(absl::Duration budget, uint32_t cores, uint32_t (*threads_running)())
    : budget_(budget), cores_(cores), threads_running_(threads_running), pause_(kPauseMin) {}

absl::Duration SpinPolicy::Budget(absl::Time now) {
  if (budget_ <= absl::ZeroDuration() || credit_ <= 0 || now < paused_until_) return absl::ZeroDuration();
  if (now - asked_ >= kAskEvery) {
    asked_ = now;
    core_free_ = threads_running_() <= cores_;
  }
  return core_free_ ? budget_ : absl::ZeroDuration();
}

void SpinPolicy::OnSpun(bool found_work) {
  credit_ = std::clamp(credit_ + (found_work ? 1 : -1), 0, kCreditMax);
  if (found_work) pause_ = kPauseMin;
}

void SpinPolicy::OnSlept(absl::Duration slept) {
  // What a sleep measures includes the wake-up that a spin would have saved.
  if (slept <= budget_ + kWake) {
    credit_ = std::min(credit_ + 1, kCreditMax);
  } else if (slept > 20 * budget_) {
    credit_ = std::max(credit_ - 1, 0);
  }
}

bool SpinPolicy::OnYielded(absl::Time now, absl::Duration took) {
  if (took < kYieldLong) return false;
  paused_until_ = now + pause_;
  pause_ = std::min<absl::Duration>(2 * pause_, kPauseMax);
  return true;
}

uint32_t ThreadsRunning() {
  FILE* file = fopen("/proc/loadavg", "re");
  if (file == nullptr) return 0;
  unsigned running = 0;
  if (fscanf(file, "%*s %*s %*s %u/", &running) != 1) running = 0;
  fclose(file);
  return running;
}

uint32_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

}  // namespace copse::daemon
