// SPDX-License-Identifier: Apache-2.0
//
// Defines the engine's implementation. engine.cc: ports, edges and calls; engine_post.cc: checks of posted sequences;
// engine_receive.cc: incoming records; engine_run.cc: execution; engine_send.cc: outgoing records.
#ifndef COPSE_OFFLOAD_EMU_ENGINE_IMPL_H_
#define COPSE_OFFLOAD_EMU_ENGINE_IMPL_H_

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/engine.h"
#include "offload_emu/label_table.h"
#include "offload_emu/outbox.h"
#include "offload_emu/pool.h"
#include "offload_emu/port.h"
#include "offload_emu/ready_queue.h"
#include "offload_emu/sequence.h"
#include "offload_emu/trace_ring.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// Returns INVALID_ARGUMENT, with name, value and limit, if the value exceeds the limit.
absl::Status CheckAtMost(const char* what, uint64_t value, uint64_t limit);
absl::Status NoSuchPort(PortId id);

// A Peer is another daemon, kept while an edge leads to it or a frame waits to be sent to it.
struct Peer {
  Peer(Incarnation self, Incarnation incarnation, BufferPool* pool)
      : incarnation(incarnation), outbox(self, incarnation, pool) {}

  const Incarnation incarnation;
  Outbox outbox;
  std::vector<Edge*> edges;  // in order of creation
  std::vector<Edge*> due;    // edges with credit, an ask or answers to send
  bool dirty = false;        // on the engine's list of peers to flush
  bool lost = false;         // its loss was reported, and no frame has come from it or gone to it since
};

class Engine::Impl final : public TransportSink {
 public:
  Impl(Transport* transport, ControlSink* control, EngineOptions options);
  ~Impl() override;

  absl::StatusOr<PortId> OpenPort(const PortOptions& options, PortSink* sink);
  void ClosePort(PortId id);
  void NameInTrace(PortId id, TeamId team, CallSeq first_call);
  absl::Status BindRegion(PortId id, RegionIndex index, uint8_t* base, uint64_t bytes, bool writable);
  absl::StatusOr<NewEdge> AddEdge(PortId id, Incarnation peer);
  absl::Status SetRemoteLabel(PortId id, uint32_t edge, Label remote);
  void RemoveEdge(PortId id, uint32_t edge);
  absl::Status Post(PortId id, const Trigger& trigger, absl::Span<const Descriptor> descriptors);
  absl::Status Count(PortId id, CounterIndex counter, uint64_t success, uint64_t failure);
  CounterValue ReadCounter(PortId id, CounterIndex counter);
  absl::Status ExpectHash(PortId id, CallSeq seq, uint16_t hash);
  absl::Status FinishCall(PortId id, CallSeq seq);
  absl::Status SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message, ControlPlace place);
  bool Progress(uint64_t budget_bytes);
  // Returns null if there is no such port.
  Port* Find(PortId id) const;
  const EngineStats& stats();
  void CheckInvariants() const;

  // TransportSink
  void OnFrame(absl::Span<const uint8_t> frame) override;
  bool TakeFrame(absl::Span<const uint8_t> frame) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;

 private:
  struct PortEntry {
    std::unique_ptr<Port> port;
    uint32_t generation = 0;
  };

  // engine.cc
  absl::Status CheckOptions(const PortOptions& options) const;
  absl::Status Reserve(uint64_t bytes);
  void DetachEdge(Edge* edge);
  void Reap();

  // engine_post.cc
  absl::Status CheckCounter(const Port& port, CounterIndex counter) const;
  absl::Status CheckDescriptor(const Port& port, const Descriptor& descriptor) const;
  uint32_t SlotOf(const Port& port, const Trigger& trigger, absl::Span<const Descriptor> descriptors) const;
  void ArmLanding(Sequence* sequence);
  void DropLanding(Sequence* sequence);
  void DropSequences(Port* port, uint32_t slot);
  void DropSequence(Sequence* sequence);

  // The arguments of a deferred PortSink::OnMismatch.
  struct Mismatch {
    PortId port;
    uint32_t edge;
    uint16_t sequence;
    uint16_t hash;
  };

  // engine_receive.cc
  void Report(Port* port, const Mismatch& mismatch);
  void ReportMismatches();
  void OnRecord(Incarnation from, const Record& record, const uint8_t* payload);
  void OnRequest(Edge* edge, const Record& record);
  void OnReply(Edge* edge, const Record& record, const uint8_t* payload);
  void OnMiniPacket(Edge* edge, const Record& record, const uint8_t* payload);
  void OnCallRecord(Edge* edge, const Record& record, const uint8_t* payload);
  bool Land(Edge* edge, const Record& record, uint32_t slot, const uint8_t* payload);
  // Writes the payload to the target of the sequence's copy, and marks that copy as done. Returns false if the payload
  // does not fit: the copy then runs later, from the eager buffer, and overwrites what was placed.
  bool LandAtTarget(Sequence* sequence, const Edge& edge, const Record& record, const uint8_t* payload);

  // engine_run.cc
  void AddCount(Port* port, CounterIndex counter, uint64_t success, uint64_t failure);
  void MakeReady(Sequence* sequence);
  bool RunReady(uint64_t* budget_bytes);
  uint64_t RunSequence(Sequence* sequence, uint64_t allowance_bytes);
  void FreeSequence(Sequence* sequence);
  // kLost: a transfer's memory was lost, and nothing was sent.
  enum class StepOutcome { kDone, kFailed, kInterrupted, kWaits, kLost };
  // Returns whether any range of a bound region that the descriptor accesses lies in lost memory.
  static bool UsesLostMemory(Port* port, const Descriptor& descriptor);
  StepOutcome RunDescriptor(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes,
                            uint64_t* used_bytes);
  StepOutcome RunTransfer(Sequence* sequence, const Descriptor& descriptor, uint64_t* used_bytes);
  StepOutcome RunReduce(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes,
                        uint64_t* used_bytes);
  StepOutcome RunCopy(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes, uint64_t* used_bytes);
  StepOutcome RunCopyList(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes,
                          uint64_t* used_bytes);

  // engine_send.cc
  Peer* PeerOf(Incarnation incarnation);
  void MarkDirty(Peer* peer);
  void MarkDue(Edge* edge);
  bool MaySend(Edge* edge, const Descriptor& descriptor);
  void WakeWaiting(Edge* edge);
  Record RecordFor(Edge* edge, RecordKind kind, MpHeader header);
  uint8_t* AppendRecord(Edge* edge, const Record& record, uint32_t payload_bytes);
  // Sends a long record without the outbox, which saves a copy of its payload. Returns false if it was not sent, and
  // has to go through the outbox.
  bool SendAtOnce(Edge* edge, const Record& record, const uint8_t* payload);
  void SendDue(Peer* peer);
  void SendDue(Edge* edge);
  void Answer(Edge* edge, const GetRequest& request);
  void Flush();
  void ReportLost();

  // Adds `record` to the trace, if there is one, with the port's team and, if the port has calls, the team's number of
  // `call`, which counts from the port's first.
  void Trace(const Port& port, uint64_t call, TraceRecord record) {
    if (trace_ == nullptr) return;
    record.team = port.trace_team;
    if (port.has_calls()) record.call = port.trace_first_call + static_cast<uint32_t>(call);
    trace_->Record(record);
  }
  void TraceWork(TraceKind kind, const Sequence& sequence, uint32_t peer, uint64_t bytes) {
    if (trace_ == nullptr) return;
    const Port& port = *sequence.port;
    Trace(port, port.CallOfSlot(sequence.slot),
          {.kind = kind, .subject = port.id().index, .peer = peer, .bytes = static_cast<uint32_t>(bytes)});
  }

  Transport* const transport_;
  ControlSink* const control_;
  const EngineOptions options_;
  TraceRing* const trace_;
  EngineStats stats_;
  BufferPool buffers_;
  SequencePool sequences_;
  ReadyQueue ready_;
  LabelTable labels_;
  std::vector<PortEntry> ports_;
  std::list<uint32_t> free_ports_;  // indices of closed ports, longest closed first
  uint32_t ports_open_ = 0;
  uint64_t next_owner_ = 1;
  absl::flat_hash_map<Incarnation, std::unique_ptr<Peer>> peers_;  // looked up, never iterated
  std::vector<Peer*> dirty_;                                       // peers to flush, in order
  std::vector<Peer*> flushing_;                                    // Flush's scratch list, kept for its capacity
  std::vector<std::pair<Incarnation, absl::Status>> lost_;         // losses found by Flush, not yet reported
  std::vector<Incarnation> idle_peers_;                            // candidates for removal
  std::vector<std::unique_ptr<Port>> closed_ports_;                // closed inside Progress
  std::vector<Mismatch> mismatches_;                               // found in TakeFrame, not yet reported
  bool in_progress_ = false;
  bool is_in_network_ = false;  // in TakeFrame
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ENGINE_IMPL_H_
