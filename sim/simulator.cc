// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <algorithm>
#include <utility>

namespace copse::sim {

void Simulator::At(absl::Time time, ActorId actor, std::function<void()> event) {
  queue_.Push({std::max(time, now_), actor}, std::move(event));
}

bool Simulator::Step() {
  if (queue_.empty()) return false;
  const auto [key, sequence, run] = queue_.Pop();
  const auto [time, actor] = key;
  now_ = time;
  ++events_run_;
  Trace(static_cast<uint64_t>(absl::ToUnixNanos(time)) ^ (uint64_t{actor} << 32));
  run();
  return true;
}

bool Simulator::RunUntilIdle(uint64_t events_max) {
  for (uint64_t i = 0; i < events_max; ++i) {
    if (!Step()) return true;
  }
  return queue_.empty();
}

bool Simulator::RunUntil(const std::function<bool()>& done, absl::Time deadline) {
  while (!done()) {
    if (queue_.empty() || queue_.Top().key.first > deadline) {
      now_ = std::max(now_, deadline);
      return false;
    }
    Step();
  }
  return true;
}

void Simulator::RunFor(absl::Duration duration) {
  RunUntil([] { return false; }, now_ + duration);
}

}  // namespace copse::sim
