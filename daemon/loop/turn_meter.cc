// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/turn_meter.h"

#include <algorithm>

#include "base/cpu_time.h"

namespace copse::daemon {

// A turn of `wall` took at most the processor time since the last reading, which was before it.
void TurnMeter::Read(absl::Time now, absl::Duration wall) {
  const absl::Duration cpu = ThreadCpuTime();
  const bool is_first = read_ == absl::InfinitePast();
  const absl::Duration turn = std::min(wall, cpu - cpu_);
  cpu_ = cpu;
  read_ = now;
  if (is_first || wall < kReadEvery) return;
  longest_ = std::max(longest_, turn);
  if (turn >= kLong) ++long_turns_;
}

}  // namespace copse::daemon
