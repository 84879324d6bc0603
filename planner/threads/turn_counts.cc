// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/turn_counts.h"

#include <cstdint>

#include "absl/time/clock.h"
#include "base/cpu_time.h"

namespace copse::planner {

void TurnCounts::Begin() { begun_ = ThreadCpuTime(); }

void TurnCounts::End() {
  const absl::Duration now = ThreadCpuTime();
  const auto took_ns = static_cast<uint64_t>(absl::ToInt64Nanoseconds(now - begun_));
  begun_ = now;
  if (cpu_ns_.count() == 0 || took_ns > cpu_ns_.max()) longest_at_ = absl::Now();
  cpu_ns_.Record(took_ns);
}

}  // namespace copse::planner
