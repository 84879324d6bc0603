// SPDX-License-Identifier: Apache-2.0
//
// Collects what happens at a port of a team until the team takes it.
#ifndef COPSE_DAEMON_CORE_TEAM_PORT_EVENTS_H_
#define COPSE_DAEMON_CORE_TEAM_PORT_EVENTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "daemon/core/team/ready_list.h"
#include "offload_emu/engine.h"

namespace copse::daemon {

class Team;
using ReadyTeams = ReadyList<Team>;

// A PortEvent is an event at an EpochPort. Events are reported in the order in which they came from the engine.
struct PortEvent {
  enum class Kind : uint8_t { kRankDone, kNodeDone, kMismatch, kWrongArrival };
  Kind kind = Kind::kNodeDone;
  CallSeq sequence{0};    // number of the call in the team; kMismatch, kWrongArrival: as the packet names it
  uint32_t local = 0;     // kRankDone: local index
  NodeIndex neighbor{0};  // kMismatch, kWrongArrival: the sender of the packet
  bool failed = false;
};

// A WrongArrival is a message of a neighbor that a call does not await as it is.
struct WrongArrival {
  uint32_t bytes = 0;
  uint64_t offset = 0;
  std::optional<emu::Arrival> awaited;  // what the call awaits instead; unset: nothing
};

// PortEvents mark the team as ready when there is something to take. Thread-compatible.
class PortEvents {
 public:
  // `*ready` must outlive this object.
  explicit PortEvents(ReadyTeams::Entry* ready) : ready_(ready) {}

  void Add(const PortEvent& event) {
    events_.push_back(event);
    ready_->Mark();
  }
  // Replaces the content of `*events` by the events since the last Take, and keeps its former memory.
  void Take(std::vector<PortEvent>* events) {
    events->clear();
    events->swap(events_);
  }

  // Keeps the first wrong arrival. Returns whether this is it.
  bool Keep(const emu::Arrival& arrived, const emu::Arrival* awaited) {
    if (wrong_arrival_) return false;
    wrong_arrival_.emplace(WrongArrival{arrived.bytes, arrived.offset});
    if (awaited != nullptr) wrong_arrival_->awaited = *awaited;
    return true;
  }
  // Requires that there was one.
  const WrongArrival& wrong_arrival() const { return *wrong_arrival_; }

 private:
  ReadyTeams::Entry* const ready_;
  std::vector<PortEvent> events_;
  std::optional<WrongArrival> wrong_arrival_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_PORT_EVENTS_H_
