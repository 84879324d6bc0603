// SPDX-License-Identifier: Apache-2.0
//
// Runs events one by one in a fixed order, in virtual time.
#ifndef COPSE_SIM_SIMULATOR_H_
#define COPSE_SIM_SIMULATOR_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/hash.h"
#include "sim/event_queue.h"

namespace copse::sim {

// An ActorId identifies the owner of an event. It breaks ties of time, so that independent actors' events have a fixed
// order. The scenario chooses the numbers; VirtualNetwork uses those of its nodes (0, 1, ...) and kNetworkActor.
using ActorId = uint32_t;
inline constexpr ActorId kNetworkActor = 0xffffffff;

// A Simulator runs events in order of (time, actor, order of scheduling). An event may schedule others, not before now.
// It is single-threaded; all objects that the events refer to must outlive them. Time starts at
// absl::UnixEpoch().
//
// The trace hash covers time and actor of every event that ran and all values passed to Trace(): two runs that are
// equal so far have equal hashes.
class Simulator {
 public:
  Simulator() = default;
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  absl::Time Now() const { return now_; }
  // Returns Now() in nanoseconds since the start.
  int64_t NowNs() const { return absl::ToUnixNanos(now_); }
  const Clock* clock() const { return &clock_; }

  // Schedules an event at `time` or after `delay`; at Now() if that is in the past.
  void At(absl::Time time, ActorId actor, std::function<void()> event);
  void Schedule(absl::Duration delay, ActorId actor, std::function<void()> event) {
    At(now_ + delay, actor, std::move(event));
  }

  // Runs the next event. Returns false if there is none.
  bool Step();
  // Runs until no event is left, and returns true, or until `events_max` have run, and returns whether none is left.
  // The limit is needed as a simulation with timers never gets idle.
  bool RunUntilIdle(uint64_t events_max = 100'000'000);
  // Runs until `done()`, called before each event, is true, and returns true; or until no event at or before `deadline`
  // is left, sets Now() to `deadline` if that is later, and returns false.
  bool RunUntil(const std::function<bool()>& done, absl::Time deadline);
  // Runs all events of the next `duration`; Now() is then later by `duration`.
  void RunFor(absl::Duration duration);

  // Adds a value to the trace hash.
  void Trace(uint64_t value) { trace_hash_ = Mix64(trace_hash_ ^ value); }
  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t events_run() const { return events_run_; }

 private:
  class SimClock final : public Clock {
   public:
    explicit SimClock(const Simulator* simulator) : simulator_(simulator) {}
    absl::Time Now() const override { return simulator_->Now(); }

   private:
    const Simulator* simulator_;
  };
  absl::Time now_ = absl::UnixEpoch();
  uint64_t events_run_ = 0;
  uint64_t trace_hash_ = 0;
  EventQueue<std::pair<absl::Time, ActorId>, std::function<void()>> queue_;
  SimClock clock_{this};
};

}  // namespace copse::sim

#endif  // COPSE_SIM_SIMULATOR_H_
