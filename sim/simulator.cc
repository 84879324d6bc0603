// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <algorithm>
#include <utility>

namespace copse::sim {

bool Simulator::Later(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.actor != b.actor) return a.actor > b.actor;
  return a.sequence > b.sequence;
}

void Simulator::At(absl::Time time, ActorId actor, std::function<void()> event) {
  queue_.push_back(Event{std::max(time, now_), actor, next_sequence_++, std::move(event)});
  std::push_heap(queue_.begin(), queue_.end(), Later);
}

bool Simulator::Step() {
  if (queue_.empty()) return false;
  std::pop_heap(queue_.begin(), queue_.end(), Later);
  Event event = std::move(queue_.back());
  queue_.pop_back();
  now_ = event.time;
  ++events_run_;
  Trace(static_cast<uint64_t>(absl::ToUnixNanos(event.time)) ^ (uint64_t{event.actor} << 32));
  event.run();
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
    if (queue_.empty() || queue_.front().time > deadline) {
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
