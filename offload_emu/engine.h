// SPDX-License-Identifier: Apache-2.0
//
// Emulates one NIC with virtual ports, triggered descriptor sequences, counters, an ALU, credits and pools.
#ifndef COPSE_OFFLOAD_EMU_ENGINE_H_
#define COPSE_OFFLOAD_EMU_ENGINE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/label_table.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"
#include "offload_emu/port.h"
#include "offload_emu/ready_queue.h"
#include "offload_emu/sequence.h"
#include "offload_emu/trace_ring.h"
#include "offload_emu/transport.h"

namespace copse::emu {

struct Peer;

// A ControlSink receives the daemons' control messages, which are opaque to the engine, and the loss of peers. Called
// from Progress.
class ControlSink {
 public:
  virtual ~ControlSink() = default;
  // Called for each control frame. `message` is valid only during the call.
  virtual void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) = 0;
  // Called when the connection is lost. Frames that waited for the peer are dropped; its edges stay until RemoveEdge.
  virtual void OnPeerDown(Incarnation peer, const absl::Status& why) = 0;
  // Called for each frame of the peer, which is therefore alive. It must not call the engine: data frames are reported
  // from within the network's callback.
  virtual void OnPeerHeard(Incarnation peer) = 0;
};

struct EngineOptions {
  Incarnation incarnation;  // this engine's; frames for another one are dropped and counted
  // Limit of the eager buffers and scratch regions of all ports together, which OpenPort and AddEdge reserve.
  uint64_t memory_limit_bytes = 256u << 20;
  uint32_t ports_max = 4096;
  uint32_t sequences_max = 65536;  // of one port
  // Bytes that one job copies, reduces and sends (and 64 for each descriptor) before the next job runs. Not 0.
  uint32_t quantum_bytes = 64 * 1024;
  uint64_t retained_bytes_max = 256 * 1024;  // released buffers kept for later calls
  TraceRing* trace = nullptr;                // null: no trace; must outlive the engine
};

// EngineStats holds counters since the engine was made, and some current values (*_waiting, memory_*).
// docs/reference/instruments.md has the names that `copsectl stats` prints.
struct EngineStats {
  uint64_t frames_sent = 0, frames_received = 0;
  uint64_t packets_sent = 0, packets_received = 0;
  uint64_t puts_sent = 0, puts_received = 0, gets_sent = 0, gets_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t packets_forwarded = 0, bytes_forwarded = 0;  // sent unchanged, straight from an eager buffer
  uint64_t sequences_posted = 0, sequences_run = 0, descriptors_run = 0;
  uint64_t reduces = 0, alu_bytes = 0, copies = 0, copy_bytes = 0;
  uint64_t alu_operand_bytes = 0;  // bytes that reductions read; alu_bytes: bytes that they wrote
  // Credit sent in records of its own, and newer credit that a packet, put or get carried.
  uint64_t credits_sent = 0, credits_piggybacked = 0, credit_asks = 0, credit_stalls = 0;
  // Sequences whose send waits for a label, credit, room in the outbox or (gets) a reply; and frames that the transport
  // has not taken yet.
  uint64_t sends_waiting = 0, sends_waiting_max = 0, frames_waiting = 0;
  uint64_t events = 0;
  uint64_t puts_landed = 0;  // received puts that were placed directly at the target of a copy
  uint64_t dropped_malformed = 0, dropped_label = 0, dropped_window = 0, dropped_incarnation = 0, dropped_mpq_full = 0;
  uint64_t dropped_version = 0, dropped_duplicate = 0, dropped_mismatch = 0;
  uint64_t memory_reserved_bytes = 0, memory_used_bytes = 0, memory_used_bytes_max = 0;
};

// An Engine is single-threaded and deterministic: its behavior follows from the calls and frames alone, in their order.
// It owns its ports, counters and eager buffers; regions are borrowed until unbound. `*transport` and `*control` must
// outlive it.
//
// Sequences run in Progress only: other calls queue work for it (SendControl sends at once if it can). After them, and
// after the transport's wake-ups, the owner calls Progress until it returns false.
//
// Invariants: a sequence runs at most once; descriptors of one sequence run in order; no eager buffer is written for a
// call outside of the window; a failure on a trigger is passed on as a failure, never as data.
class Engine final : private TransportSink {
 public:
  Engine(Transport* transport, ControlSink* control, EngineOptions options);
  ~Engine() override;

  // --- Ports ---
  // `*sink` must outlive the port. Errors: INVALID_ARGUMENT if an option is out of range, RESOURCE_EXHAUSTED if a limit
  // of EngineOptions would be exceeded; the text names it.
  absl::StatusOr<PortId> OpenPort(const PortOptions& options, PortSink* sink);
  // Drops the port's sequences, counters, eager buffers and labels; its sink is not called afterwards. No-op if the
  // port is not open.
  void ClosePort(PortId port);

  // Sets the fields of the port's trace records: its team, and the team's call that is the port's call 0.
  void NameInTrace(PortId port, TeamId team, CallSeq first_call);

  // --- Memory ---
  // Binds region `index` to [base, base + bytes), which must stay mapped until it is unbound (by a null base) or the
  // port is closed. Errors: NOT_FOUND: no such port. INVALID_ARGUMENT: `index` >= PortOptions::regions.
  absl::Status BindRegion(PortId port, RegionIndex index, uint8_t* base, uint64_t bytes, bool writable);
  // Returns the region of the edge's eager buffer in `slot`, usable in every MemoryRef of the port; kNoRegion if the
  // port is not open.
  RegionIndex CellRegion(PortId port, uint32_t edge, uint32_t slot) const;
  // Returns the scratch region of a slot (at most `cell_bytes`, allocated on first use), where reductions accumulate;
  // kNoRegion if the port is not open.
  RegionIndex ScratchRegion(PortId port, uint32_t slot) const;

  // --- Edges ---
  // Adds an edge to `peer`, for both directions, and issues the label that the peer's records must carry. Reserves
  // memory for its eager buffers: `slots` times `cell_bytes` rounded up to a power of two. Errors: NOT_FOUND: no such
  // port. INVALID_ARGUMENT beyond PortOptions::edges. RESOURCE_EXHAUSTED beyond memory_limit_bytes.
  struct NewEdge {
    uint32_t edge;
    Label label;
  };
  absl::StatusOr<NewEdge> AddEdge(PortId port, Incarnation peer);
  // Sets the label that the peer issued; sends on the edge wait for it. The transport must be connected to the peer
  // before, or frames for it are dropped and OnPeerDown reports the peer. Errors: NOT_FOUND: no such port or edge.
  // INVALID_ARGUMENT: kNoLabel.
  absl::Status SetRemoteLabel(PortId port, uint32_t edge, Label remote);
  // Removes the edge, if there is one. Sends that wait for it, and unanswered gets, fail.
  void RemoveEdge(PortId port, uint32_t edge);

  // --- Counters and sequences ---
  //
  // Arms one sequence of 1 to 64 descriptors, all or nothing. It belongs to the call in whose slot its trigger's
  // counter is (without a trigger: to the call of its first send, put or get, else of its first counter, else to none),
  // and is dropped when that call ends.
  //
  // A packet or put without credit, label or room in the outbox makes its whole sequence wait: post sends that
  // must not wait for one another as separate sequences. An operation out of a region's bounds counts as failed, and so
  // does the rest of its sequence. Errors: INVALID_ARGUMENT: a field is out of range (the text names it), or the call
  // is over. NOT_FOUND: no such port. RESOURCE_EXHAUSTED: PortOptions::sequences or eq_entries.
  absl::Status Post(PortId port, const Trigger& trigger, absl::Span<const Descriptor> descriptors);
  // Adds to a counter, which makes sequences ready whose threshold is reached. Errors: NOT_FOUND: no such port.
  // INVALID_ARGUMENT: no such counter, or its call is over.
  absl::Status Count(PortId port, CounterIndex counter, uint64_t success, uint64_t failure);
  // Returns zeros if there is no such port or counter.
  CounterValue ReadCounter(PortId port, CounterIndex counter) const;

  // --- Calls of a team's port ---
  // Sets the hash that packets of call `seq` must carry. Packets that arrived earlier are in their eager buffers, but
  // count only now, if their hash is equal: without ExpectHash no packet ever counts. Puts to a bound region that
  // arrived earlier are failures. May call OnMismatch. Errors: NOT_FOUND: no such port. INVALID_ARGUMENT: `seq` is
  // outside the window [finished, finished + slots) or over. FAILED_PRECONDITION: another hash was set before.
  absl::Status ExpectHash(PortId port, CallSeq seq, uint16_t hash);
  // Ends call `seq`: zeroes its counters and drops its sequences; seq + slots gets its slot once all earlier calls are
  // over, too. Calls may finish out of order; credit (the length of the finished prefix) returns to the neighbors in
  // data records, or in a record of its own after slots / 2 calls or when a neighbor asks. Errors: NOT_FOUND: no such
  // port. INVALID_ARGUMENT: `seq` is outside the window or over.
  absl::Status FinishCall(PortId port, CallSeq seq);
  // Returns the length of the finished prefix: all calls below it are over. 0 if the port is not open.
  CallSeq Finished(PortId port) const;

  // --- Network ---
  // Sends a control frame to a connected peer (not subject to credits). INVALID_ARGUMENT: longer than
  // kControlBytesMax. UNAVAILABLE: not connected or down. RESOURCE_EXHAUSTED: the transport is full, and too many
  // frames wait for this peer already (kAhead, kBehind: Outbox::kControlsMax control frames). A frame that waits is
  // dropped if the peer is lost, which OnPeerDown reports.
  absl::Status SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message,
                           ControlPlace place = ControlPlace::kAsData);

  // --- Client-to-client packets (ports with mpq_entries) ---
  // Takes the oldest packet of the port's MPQ. Returns false if it is empty.
  bool PopPacket(PortId port, MpPacket* packet, uint32_t* payload_bytes);

  // Handles the transport's frames, then runs ready sequences until they have used `budget_bytes` (counted as for
  // quantum_bytes; the last step may exceed it), then sends. Returns true if it did anything or left work: call it
  // again. Frames that the transport does not take are not such work; its wake-up announces that it has room.
  bool Progress(uint64_t budget_bytes);

  const EngineStats& stats() const;

  // Dies if an invariant does not hold, or if called within Progress. Cost: O(ports * (slots * counters + edges) +
  // sequences), so it is for tests and the simulator.
  void CheckInvariants() const;

 private:
  struct PortEntry {
    std::unique_ptr<Port> port;
    uint32_t generation = 0;
  };

  // TransportSink
  void OnFrame(absl::Span<const uint8_t> frame) override;
  bool TakeFrame(absl::Span<const uint8_t> frame) override;
  void OnPeerDown(Incarnation peer, const absl::Status& why) override;

  // Returns INVALID_ARGUMENT, with name, value and limit, if the value exceeds the limit.
  static absl::Status CheckAtMost(const char* what, uint64_t value, uint64_t limit);
  static absl::Status NoSuchPort(PortId id);
  // Returns null if there is no such port.
  Port* Find(PortId id) const;

  // engine.cc: ports, edges and calls
  absl::Status CheckOptions(const PortOptions& options) const;
  absl::Status Reserve(uint64_t bytes);
  void DetachEdge(Edge* edge);
  void Reap();

  // engine_post.cc: checks of posted sequences
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

  // engine_receive.cc: incoming records
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

  // engine_run.cc: execution
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

  // engine_send.cc: outgoing records
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
  mutable EngineStats stats_;  // stats() sets the current values
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

#endif  // COPSE_OFFLOAD_EMU_ENGINE_H_
