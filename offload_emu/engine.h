// SPDX-License-Identifier: Apache-2.0
//
// Emulates one NIC with virtual ports, triggered descriptor sequences, counters, an ALU, credits and pools.
#ifndef COPSE_OFFLOAD_EMU_ENGINE_H_
#define COPSE_OFFLOAD_EMU_ENGINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/ids.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/packet.h"
#include "offload_emu/trace_ring.h"
#include "offload_emu/transport.h"

namespace copse::emu {

// PortOptions are the resources of a port. Its owner chooses them; OpenPort checks them against the engine's limits.
//
// A port that serves a team has `slots` = the window W: all state of call `seq` is in slot seq mod W.
// Counters are numbered slot * counters_per_slot + i. Regions below `regions` are bound by the owner; every edge also
// has one eager buffer per slot (CellRegion) of at most `cell_bytes`, which the engine allocates on first use.
//
// A port with an MPQ and no eager buffers serves packets from client to client: it has no calls, so packets go to the
// MPQ (dropped if it is full), every record with kRecordTrigger counts, and neither window, credit nor hash apply. Such
// ports and OpCode::kGet are part of the machine that the papers describe and are tested here (MpqTest has an example);
// no plan uses them yet, and the daemon opens no port with an MPQ.
struct PortOptions {
  uint32_t job = 0;          // fairness: ready work is served round-robin by job
  uint32_t sequences = 64;   // descriptor sequences posted and not yet run (the DQ's depth)
  uint32_t mpq_entries = 0;  // received packets not yet popped
  uint32_t eq_entries = 64;  // kEvent descriptors of sequences not yet run
  uint32_t slots = 1;        // power of two, at most 4096
  uint32_t counters_per_slot = 8;
  uint32_t regions = 16;
  uint32_t edges = 0;       // limit of AddEdge
  uint64_t cell_bytes = 0;  // limit of one eager buffer, and of one scratch region
};

// A CounterValue is a copy of the two halves of a counter.
struct CounterValue {
  uint64_t success = 0;
  uint64_t failure = 0;
};

// A PortSink receives the callbacks of a port, from Progress (OnMismatch also from ExpectHash) on the engine's thread.
// They may call the engine, except Progress and CheckInvariants; they may close their own port.
class PortSink {
 public:
  virtual ~PortSink() = default;
  // Called when a kEvent descriptor runs. `failed`: its trigger or an earlier operation of its sequence had failed.
  virtual void OnEvent(PortId port, uint64_t value, bool failed) = 0;
  // Called if a packet or put for call `sequence` (modulo 2^16) has another hash than ExpectHash set, before or after
  // the packet arrived. Called once per edge and call; such packets never count.
  virtual void OnMismatch(PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) = 0;
};

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
class Engine {
 public:
  Engine(Transport* transport, ControlSink* control, EngineOptions options);
  ~Engine();

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
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ENGINE_H_
