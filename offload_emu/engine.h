// SPDX-License-Identifier: Apache-2.0
//
// The engine: one emulated NIC with virtual ports, triggered descriptor sequences, counters, an
// ALU, credits and pools.
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

// The resources of a port. Its owner chooses them; OpenPort checks them against the engine's quotas.
//
// A port that serves a team has `slots` = the window W: everything that belongs to call `seq` lives in slot seq mod W.
// Counters are numbered slot * counters_per_slot + i. Regions below `regions` are bound by the owner; every edge also
// has one eager buffer per slot (CellRegion), which the engine allocates on first use, of at most `cell_bytes`.
//
// A port with an MPQ and no eager buffers is of the other kind, from client to client: it has no calls, so packets go
// to the MPQ (dropped if it is full), every record with kRecordTrigger counts, and neither window, credit nor hash
// apply. This and OpCode::kGet are the papers' machine, kept and tested here (MpqTest has an example); no plan uses
// them yet, and the daemon opens no port with an MPQ.
struct PortOptions {
  uint32_t job = 0;          // fairness: ready work is served round-robin by job
  uint32_t sequences = 64;   // descriptor sequences armed or ready at once (the DQ's depth)
  uint32_t mpq_entries = 0;  // received packets not yet popped
  uint32_t eq_entries = 64;  // kEvent descriptors posted and not yet run
  uint32_t slots = 1;        // power of two, at most 4096
  uint32_t counters_per_slot = 8;
  uint32_t regions = 16;
  uint32_t edges = 0;       // at most
  uint64_t cell_bytes = 0;  // bound of one eager buffer
};

// The two halves of a trigger's counter.
struct CounterValue {
  uint64_t success = 0;
  uint64_t failure = 0;
};

// The callbacks of a port. Called from Progress (OnMismatch also from ExpectHash), on the engine's thread. They may
// call everything of the engine except Progress, ClosePort of this very port included.
class PortSink {
 public:
  virtual ~PortSink() = default;
  // A kEvent descriptor ran. `failed`: its trigger or an earlier operation of its sequence had failed.
  virtual void OnEvent(PortId port, uint64_t value, bool failed) = 0;
  // A packet for call `sequence` arrived whose hash differs from ExpectHash's (in whichever order they came). Called
  // once per edge and call; such packets never count.
  virtual void OnMismatch(PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) = 0;
};

// Receives the daemon's control messages, which are opaque to the engine. Called from Progress.
class ControlSink {
 public:
  virtual ~ControlSink() = default;
  virtual void OnControl(Incarnation from, uint16_t type, absl::Span<const uint8_t> message) = 0;
  virtual void OnPeerDown(Incarnation peer, const absl::Status& why) = 0;
  // A frame of this peer arrived: it is alive (heartbeats need not be sent on a busy edge).
  virtual void OnPeerHeard(Incarnation peer) = 0;
};

struct EngineOptions {
  Incarnation incarnation;  // this engine's; frames for another one are dropped and counted
  // The bound for the eager buffers and scratch of all ports together, reserved by OpenPort and AddEdge.
  uint64_t memory_limit_bytes = 256u << 20;
  uint32_t ports_max = 4096;
  uint32_t sequences_max = 65536;  // of one port
  // Copy and ALU bytes for one job before the next job's turn.
  uint32_t quantum_bytes = 64 * 1024;
  uint64_t retained_bytes_max = 256 * 1024;  // of released buffers, kept for the next call
  TraceRing* trace = nullptr;                // null: no trace; must outlive the engine
};

// Counters since start. docs/reference/instruments.md has the names that `copsectl stats` prints.
struct EngineStats {
  uint64_t frames_sent = 0, frames_received = 0;
  uint64_t packets_sent = 0, packets_received = 0;
  uint64_t puts_sent = 0, puts_received = 0, gets_sent = 0, gets_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t packets_forwarded = 0, bytes_forwarded = 0;  // sent unchanged, straight from an eager buffer
  uint64_t sequences_posted = 0, sequences_run = 0, descriptors_run = 0;
  uint64_t reduces = 0, alu_bytes = 0, copies = 0, copy_bytes = 0;
  uint64_t alu_operand_bytes = 0;  // read by reductions; alu_bytes is written by them
  // Credit sent in records of its own, and newer credit that a packet, put or get carried.
  uint64_t credits_sent = 0, credits_piggybacked = 0, credit_asks = 0, credit_stalls = 0;
  // Sequences waiting to send, for a label, credit or room in the outbox; and frames that the transport did not take.
  uint64_t sends_waiting = 0, sends_waiting_max = 0, frames_waiting = 0;
  uint64_t events = 0;
  uint64_t puts_landed = 0;  // of those received: placed directly at the target of a copy
  uint64_t dropped_malformed = 0, dropped_label = 0, dropped_window = 0, dropped_incarnation = 0, dropped_mpq_full = 0;
  uint64_t dropped_version = 0, dropped_duplicate = 0, dropped_mismatch = 0;
  uint64_t memory_reserved_bytes = 0, memory_used_bytes = 0, memory_used_bytes_max = 0;
};

// An Engine is single-threaded and deterministic: its behavior follows from the calls and frames alone, in their order.
// It owns its ports, counters and eager buffers; regions are borrowed until unbound. `*transport`, `*control` must
// outlive it.
//
// Everything runs in Progress: other calls only queue work for it. After them, and after the transport's wake-ups, the
// owner calls Progress until it returns false.
//
// Invariants: a sequence runs at most once; descriptors of one sequence run in order; no eager buffer is written for a
// call without credit; a failure on a trigger is passed on as a failure, never as data.
class Engine {
 public:
  Engine(Transport* transport, ControlSink* control, EngineOptions options);
  ~Engine();

  // --- Ports ---
  // RESOURCE_EXHAUSTED names the quota; INVALID_ARGUMENT the option. `*sink` must outlive the port.
  absl::StatusOr<PortId> OpenPort(const PortOptions& options, PortSink* sink);
  // Drops the port's armed sequences, counters, eager buffers and labels; its events are never delivered afterwards.
  void ClosePort(PortId port);

  // Sets the fields of the port's trace records: its team, and the team's call that is the port's call 0.
  void NameInTrace(PortId port, TeamId team, CallSeq first_call);

  // --- Memory ---
  // Binds region `index` to [base, base + bytes). A null base unbinds. The memory must stay mapped until then.
  absl::Status BindRegion(PortId port, RegionIndex index, uint8_t* base, uint64_t bytes, bool writable);
  // Returns the region of the edge's eager buffer in `slot`, usable in every MemoryRef of the port.
  RegionIndex CellRegion(PortId port, uint32_t edge, uint32_t slot) const;
  // Returns the scratch region of a slot (`cell_bytes` long, allocated on first use), where reductions accumulate.
  RegionIndex ScratchRegion(PortId port, uint32_t slot) const;

  // --- Edges ---
  // Adds an edge to `peer`, both ways, and issues the label by which the peer reaches this engine. Reserves slots *
  // cell_bytes. INVALID_ARGUMENT beyond PortOptions::edges, RESOURCE_EXHAUSTED beyond memory_limit_bytes.
  struct NewEdge {
    uint32_t edge;
    Label label;
  };
  absl::StatusOr<NewEdge> AddEdge(PortId port, Incarnation peer);
  // Sets the label that the peer issued. Sends on the edge wait until then. The transport must be connected to the
  // peer by then, or its frames are dropped and OnPeerDown reports the peer.
  absl::Status SetRemoteLabel(PortId port, uint32_t edge, Label remote);
  // Removes the edge. Sends waiting for it, and unanswered gets, fail.
  void RemoveEdge(PortId port, uint32_t edge);

  // --- Counters and sequences ---
  //
  // Arms one sequence (at most 64 descriptors), all or nothing. It belongs to the call in whose slot its trigger is
  // (without one: its first packet, else its first counter) and ends with it.
  //
  // A packet or put without credit, label or room in the outbox makes its whole sequence wait there: post sends that
  // must not wait for one another as separate sequences. An operation out of a region's bounds counts as failed, and so
  // does the rest of its sequence. INVALID_ARGUMENT: a field is out of range (the text names it), or the call is over.
  // NOT_FOUND: no such port. RESOURCE_EXHAUSTED: PortOptions::sequences or eq_entries.
  absl::Status Post(PortId port, const Trigger& trigger, absl::Span<const Descriptor> descriptors);
  absl::Status Count(PortId port, CounterIndex counter, uint64_t success, uint64_t failure);
  CounterValue ReadCounter(PortId port, CounterIndex counter) const;

  // --- Calls of a team's port ---
  // Sets the hash that packets of call `seq` must carry. Packets that arrived earlier are in their eager buffers, but
  // count only now, if their hash is equal: without ExpectHash no packet ever counts. Puts to a bound region that
  // arrived earlier are failures. INVALID_ARGUMENT: `seq` is outside the window [finished, finished + slots) or over.
  // FAILED_PRECONDITION: another hash was set before.
  absl::Status ExpectHash(PortId port, CallSeq seq, uint16_t hash);
  // Ends call `seq`: its counters are zeroed, its armed sequences dropped, its slot free for seq + slots. Calls may
  // finish out of order; credit (the length of the finished prefix) returns to the neighbors, piggybacked, or by
  // itself after slots / 2 calls, or when a neighbor asks.
  absl::Status FinishCall(PortId port, CallSeq seq);
  // Returns the length of the finished prefix: all calls below it are over.
  CallSeq Finished(PortId port) const;

  // --- Network ---
  // Sends a control frame to a connected peer (not subject to credits). INVALID_ARGUMENT: longer than
  // kControlBytesMax. UNAVAILABLE: not connected or down. RESOURCE_EXHAUSTED: too much is waiting for this peer
  // already; with a ControlPlace of its own: beyond Outbox::kControlsMax.
  absl::Status SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message,
                           ControlPlace place = ControlPlace::kAsData);

  // --- Client-to-client packets (ports with mpq_entries) ---
  // Takes the oldest packet of the port's MPQ. Returns false if it is empty.
  bool PopPacket(PortId port, MpPacket* packet, uint32_t* payload_bytes);

  // Takes in the transport's frames, then runs ready sequences, at most `budget_bytes` of copying and reducing, then
  // sends. Returns true if it did anything or left work behind: call it again. Frames that the transport does not
  // take are not such work; the transport's wake-up announces that it has room.
  bool Progress(uint64_t budget_bytes);

  const EngineStats& stats() const;

  // Dies if an invariant does not hold. Not during Progress. Cost: O(ports * (slots + edges) + sequences): for tests
  // and the simulator.
  void CheckInvariants() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ENGINE_H_
