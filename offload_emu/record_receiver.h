// SPDX-License-Identifier: Apache-2.0
//
// Handles the frames that an engine receives.
#ifndef COPSE_OFFLOAD_EMU_RECORD_RECEIVER_H_
#define COPSE_OFFLOAD_EMU_RECORD_RECEIVER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/control_sink.h"
#include "offload_emu/counter.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine_stats.h"
#include "offload_emu/label_table.h"
#include "offload_emu/packet.h"
#include "offload_emu/port.h"
#include "offload_emu/port_table.h"
#include "offload_emu/record_sender.h"
#include "offload_emu/sequence_runner.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// A RecordReceiver places the payload of records and counts them. Nothing in a frame is trusted: records that are not
// valid are dropped and counted. Everything passed by pointer must outlive it. Thread-compatible.
class RecordReceiver final : public TransportSink {
 public:
  // `labels` has the edge of each record; sender, runner and control then act on the record. `ports` finds ports that a
  // callback may have closed.
  struct Parts {
    LabelTable* labels;
    PortTable* ports;
    RecordSender* sender;
    SequenceRunner* runner;
    ControlSink* control;
  };
  RecordReceiver(const Parts& parts, EngineStats* stats) : parts_(parts), stats_(stats) {}

  // These implement TransportSink.
  void OnFrame(absl::Span<const uint8_t> frame) override;
  // Takes data frames only: their records queue work and make no callback that may call the engine (OnMismatch is
  // deferred), while control messages make such callbacks.
  bool TakeFrame(absl::Span<const uint8_t> frame) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;

  // Reports the peers that the sender has found to be lost.
  void ReportLost();
  // Reports the mismatches that TakeFrame has found.
  void ReportMismatches();
  // See Engine.
  absl::Status ExpectHash(Port* port, CallSeq seq, uint16_t hash);
  absl::Status ExpectArrivals(Port* port, CallSeq seq, absl::Span<const Arrival> arrivals);

  bool is_in_network() const { return is_in_network_; }

 private:
  // A Mismatch has the arguments of a deferred PortSink::OnMismatch or OnWrongArrival.
  struct Mismatch {
    PortId port;
    uint16_t sequence = 0;
    uint16_t hash = 0;
    Arrival arrived;
    std::optional<Arrival> awaited;
    bool is_wrong_arrival = false;  // else the hash is wrong
  };

  void OnRecord(Incarnation from, const Record& record, const uint8_t* payload);
  void OnRequest(Edge* edge, const Record& record);
  void OnReply(Edge* edge, const Record& record, const uint8_t* payload);
  void OnMiniPacket(Edge* edge, const Record& record, const uint8_t* payload);
  void OnCallRecord(Edge* edge, const Record& record, const uint8_t* payload);
  // Counts the edge's first mismatch in the call, and reports it now or, in TakeFrame, later. The sink may close the
  // port.
  void OnMismatch(Port* port, CounterBlock::EdgeState* state, const Mismatch& mismatch);
  static void Report(Port* port, const Mismatch& mismatch);
  static Mismatch WrongArrival(const Port& port, uint16_t sequence, const Arrival& arrived, const Arrival* awaited);
  void CountArrival(Port* port, uint32_t slot, const Arrival& arrival);
  // Counts what came before the call's hash was known, and returns the mismatches in it.
  std::vector<Mismatch> TakeEarly(Port* port, uint32_t slot, uint16_t sequence);
  bool Place(Edge* edge, const Record& record, uint32_t slot, const uint8_t* payload);
  // Writes the payload to the target of the sequence's copy, and marks that copy as done. Returns false if the payload
  // does not fit: the copy then runs later, from the eager buffer, and overwrites what was placed.
  bool PlaceAtTarget(Sequence* sequence, const Edge& edge, const Record& record, const uint8_t* payload);

  const Parts parts_;
  EngineStats* const stats_;
  std::vector<Mismatch> mismatches_;  // found in TakeFrame, not yet reported
  bool is_in_network_ = false;        // true during TakeFrame
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_RECORD_RECEIVER_H_
