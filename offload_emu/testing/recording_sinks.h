// SPDX-License-Identifier: Apache-2.0
//
// Sinks of an engine that record their calls.
#ifndef COPSE_OFFLOAD_EMU_TESTING_RECORDING_SINKS_H_
#define COPSE_OFFLOAD_EMU_TESTING_RECORDING_SINKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/engine.h"

namespace copse::emu {

struct RecordedEvent {
  uint64_t value;
  bool failed;
  friend bool operator==(const RecordedEvent&, const RecordedEvent&) = default;
};
struct RecordedMismatch {
  uint32_t edge;
  uint16_t sequence;
  uint16_t hash;
  friend bool operator==(const RecordedMismatch&, const RecordedMismatch&) = default;
};
struct RecordedWrongArrival {
  uint32_t edge;
  uint16_t sequence;
  uint32_t bytes;
  int64_t awaited_bytes;  // -1: nothing is awaited
  friend bool operator==(const RecordedWrongArrival&, const RecordedWrongArrival&) = default;
};

class RecordingPortSink final : public PortSink {
 public:
  void OnEvent(PortId port, uint64_t value, bool failed) override {
    events.push_back({value, failed});
    if (on_event) on_event(port, value, failed);
  }
  void OnMismatch(PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) override {
    mismatches.push_back({edge, sequence, hash});
    if (on_mismatch) on_mismatch(port);
  }
  void OnWrongArrival(PortId port, uint16_t sequence, const Arrival& arrived, const Arrival* awaited) override {
    wrong_arrivals.push_back(
        {arrived.edge, sequence, arrived.bytes, awaited == nullptr ? -1 : int64_t{awaited->bytes}});
    if (on_mismatch) on_mismatch(port);
  }
  std::vector<RecordedEvent> TakeEvents() { return std::exchange(events, {}); }

  std::vector<RecordedEvent> events;
  std::vector<RecordedMismatch> mismatches;
  std::vector<RecordedWrongArrival> wrong_arrivals;
  std::function<void(PortId, uint64_t, bool)> on_event;
  std::function<void(PortId)> on_mismatch;
};

class RecordingControlSink final : public ControlSink {
 public:
  void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) override {
    controls.emplace_back(from, type, std::string(message.begin(), message.end()));
  }
  void OnPeerDown(Incarnation peer, const absl::Status& why) override { downs.emplace_back(peer, why); }
  void OnPeerHeard(Incarnation) override { ++heard; }

  std::vector<std::tuple<Incarnation, uint16_t, std::string>> controls;
  std::vector<std::pair<Incarnation, absl::Status>> downs;
  uint64_t heard = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_RECORDING_SINKS_H_
