// SPDX-License-Identifier: Apache-2.0
//
// One engine on a fake transport: the fixture of tests of the engine's details.
#ifndef COPSE_OFFLOAD_EMU_TESTING_SINGLE_ENGINE_H_
#define COPSE_OFFLOAD_EMU_TESTING_SINGLE_ENGINE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/check.h"
#include "base/ids.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/descriptor_factory.h"
#include "offload_emu/testing/fake_transport.h"
#include "offload_emu/testing/recording_sinks.h"

namespace copse::emu {

// An engine with one port and all the edges that it may have: neighbor i is incarnation kPeer + i, reached by the
// label kRemote + i.
struct SingleEngine {
  static constexpr uint64_t kSelf = 1;
  static constexpr uint64_t kPeer = 50;
  static constexpr uint32_t kRemote = 9000;

  explicit SingleEngine(const PortOptions& options, EngineOptions engine_options = {})
      : engine(&transport, &control, WithIncarnation(engine_options)) {
    auto opened = engine.OpenPort(options, &sink);
    CHECK(opened.ok());
    port = *opened;
    for (uint32_t i = 0; i < options.edges; ++i) {
      auto edge = engine.AddEdge(port, Incarnation(kPeer + i));
      CHECK(edge.ok());
      CHECK_EQ(edge->edge, i);
      labels.push_back(edge->label);
      CHECK(engine.SetRemoteLabel(port, i, Label{kRemote + i}).ok());
    }
  }

  static EngineOptions WithIncarnation(EngineOptions options) {
    options.incarnation = Incarnation(kSelf);
    return options;
  }

  void Run(uint64_t budget_bytes = 1 << 20) {
    while (engine.Progress(budget_bytes)) {
    }
    engine.CheckInvariants();
  }

  // --- Calls of the engine that must succeed ---
  void Arm(const Trigger& trigger, absl::Span<const Descriptor> descriptors) {
    CHECK(engine.Post(port, trigger, descriptors).ok());
  }
  // Posts a sequence that is ready at once, and runs all that is.
  void PostAndRun(absl::Span<const Descriptor> descriptors) {
    Arm({}, descriptors);
    Run();
  }
  void Count(CounterIndex counter, uint64_t success, uint64_t failure) {
    CHECK(engine.Count(port, counter, success, failure).ok());
  }
  void Bind(RegionIndex index, uint8_t* base, uint64_t bytes, bool writable) {
    CHECK(engine.BindRegion(port, index, base, bytes, writable).ok());
  }
  void Expect(uint64_t call, uint16_t hash = kTestHash) { CHECK(engine.ExpectHash(port, CallSeq(call), hash).ok()); }
  void Finish(uint64_t call) { CHECK(engine.FinishCall(port, CallSeq(call)).ok()); }

  // Makes a record as neighbor `edge` would send it for `call`.
  RecordAndPayload From(uint32_t edge, RecordKind kind, uint64_t call, uint32_t counter, Bytes payload = {}) const {
    RecordAndPayload made;
    made.record.header = {
        .label = static_cast<uint32_t>(labels[edge]), .sequence = static_cast<uint16_t>(call), .hash = kTestHash};
    made.record.kind = static_cast<uint8_t>(kind);
    made.record.flags = kind == RecordKind::kPacket || kind == RecordKind::kPut ? kRecordTrigger : 0;
    made.record.bytes = static_cast<uint32_t>(payload.size());
    made.record.counter = counter;
    made.record.region = kCellOfEdge;
    made.payload = std::move(payload);
    return made;
  }
  // Delivers one frame of neighbor `edge`.
  void Deliver(uint32_t edge, const std::vector<RecordAndPayload>& records) {
    transport.to_deliver.push_back(MakeDataFrame(Incarnation(kPeer + edge), Incarnation(kSelf), records));
    Run();
  }
  CounterValue Counter(CounterIndex index) const { return engine.ReadCounter(port, index); }

  FakeTransport transport;
  RecordingControlSink control;
  RecordingPortSink sink;
  Engine engine;
  PortId port;
  std::vector<Label> labels;
};

inline bool operator==(const CounterValue& a, const CounterValue& b) {
  return a.success == b.success && a.failure == b.failure;
}

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_SINGLE_ENGINE_H_
