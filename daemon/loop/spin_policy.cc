// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/spin_policy.h"

#include <sched.h>

#include <algorithm>

namespace copse::daemon {
namespace {

constexpr int kCreditMax = 8;
// A wake-up costs about this much.
constexpr absl::Duration kWake = absl::Microseconds(30);

}  // namespace

SpinPolicy::SpinPolicy(absl::Duration budget, uint32_t cores) : budget_(budget), cores_(cores) {}

absl::Duration SpinPolicy::Budget(absl::Time now) const {
  if (cores_ < 2 || credit_ <= 0 || !core_watch_.MaySpin(absl::ToUnixNanos(now))) return absl::ZeroDuration();
  return budget_;
}

void SpinPolicy::OnSpun(bool found_work) { credit_ = std::clamp(credit_ + (found_work ? 1 : -1), 0, kCreditMax); }

void SpinPolicy::OnSlept(absl::Duration slept) {
  // The measured time of a sleep includes the wake-up that a spin would have saved.
  if (slept <= budget_ + kWake) {
    credit_ = std::min(credit_ + 1, kCreditMax);
  } else if (slept > 20 * budget_) {
    credit_ = std::max(credit_ - 1, 0);
  }
}

bool SpinPolicy::OnYielded(absl::Time now, absl::Duration took) {
  return core_watch_.OnYielded(absl::ToUnixNanos(now), absl::ToInt64Nanoseconds(took));
}

uint32_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

}  // namespace copse::daemon
