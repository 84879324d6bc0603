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
  std::vector<RecordedEvent> TakeEvents() { return std::exchange(events, {}); }

  std::vector<RecordedEvent> events;
  std::vector<RecordedMismatch> mismatches;
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
