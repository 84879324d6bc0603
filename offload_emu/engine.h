// SPDX-License-Identifier: Apache-2.0
//
// Emulates one NIC with virtual ports, triggered descriptor sequences, counters, an ALU, credits and pools.
#ifndef COPSE_OFFLOAD_EMU_ENGINE_H_
#define COPSE_OFFLOAD_EMU_ENGINE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/control_sink.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine_stats.h"
#include "offload_emu/label_table.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"
#include "offload_emu/port.h"
#include "offload_emu/port_table.h"
#include "offload_emu/ready_queue.h"
#include "offload_emu/record_receiver.h"
#include "offload_emu/record_sender.h"
#include "offload_emu/sequence_runner.h"
#include "offload_emu/trace_ring.h"
#include "offload_emu/transport.h"

namespace copse::emu {

struct EngineOptions {
  Incarnation incarnation;  // this engine's; frames for another one are dropped and counted
  // Limits the eager buffers and scratch regions of all ports together, which OpenPort and AddEdge reserve.
  uint64_t memory_limit_bytes = 256u << 20;
  uint32_t ports_max = 4096;
  uint32_t sequences_max = 65536;  // limit of one port
  // One job copies, reduces and sends this many bytes (and 64 for each descriptor) before the next job runs. It must
  // not be 0.
  uint32_t quantum_bytes = 64 * 1024;
  uint64_t retained_bytes_max = 256 * 1024;  // released buffers kept for later calls
  TraceRing* trace = nullptr;                // null: no trace; must outlive the engine
  uint32_t (*random)() = nullptr;            // returns random numbers for labels (LabelTable)
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
  // of EngineOptions would be exceeded, or the owner may not have so much more; the text names it.
  absl::StatusOr<PortId> OpenPort(const PortOptions& options, PortSink* sink);
  // Drops the port's sequences, counters, eager buffers and labels; its sink is not called afterwards. It has no effect
  // if the port is not open.
  void ClosePort(PortId port);
  // Sets the weight of a job that has ports (PortOptions::job): it gets `weight` times as much as one of weight 1,
  // which is that of a job before. Requires a weight from 1
  // on; others may have to wait for as many quanta.
  void SetWeight(uint32_t job, uint32_t weight);
  uint32_t WeightOf(uint32_t job) const { return ready_.WeightOf(job); }

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
  // Adds an edge to `peer`, for both directions, and issues the label that the peer's records must carry: a random one,
  // or `wanted`. Reserves memory for its eager buffers: `slots` times `cell_bytes` rounded up to a power of two.
  // Errors: NOT_FOUND: no such port. INVALID_ARGUMENT beyond PortOptions::edges. RESOURCE_EXHAUSTED beyond
  // memory_limit_bytes, or what the port's owner may have. ALREADY_EXISTS: `wanted` is in use.
  struct NewEdge {
    uint32_t edge;
    Label label;
  };
  absl::StatusOr<NewEdge> AddEdge(PortId port, Incarnation peer, Label wanted = kNoLabel);
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
  // arrived earlier are failures. May call OnMismatch and OnWrongArrival. Errors: NOT_FOUND: no such port.
  // INVALID_ARGUMENT: `seq` is outside the window [finished, finished + slots) or over. FAILED_PRECONDITION: another
  // hash was set before.
  absl::Status ExpectHash(PortId port, CallSeq seq, uint16_t hash);
  // Says, before ExpectHash, what counts at call `seq`: at most one arrival for each edge and counter. Any other one is
  // reported and does not count. Without it whatever arrives counts. Errors: NOT_FOUND: no such port. INVALID_ARGUMENT:
  // `seq` is outside the window or over, or there is no such edge. FAILED_PRECONDITION: the call has a hash already.
  absl::Status ExpectArrivals(PortId port, CallSeq seq, absl::Span<const Arrival> arrivals);
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
  // frames wait for this peer already (kAhead, kBehind: FrameOutbox::kControlsMax control frames). A frame that waits
  // is dropped if the peer is lost, which OnPeerDown reports.
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
  static absl::Status NoSuchPort(PortId id);
  absl::Status CheckOptions(const PortOptions& options) const;
  // Reserves and releases what a port takes, or one edge of it.
  absl::Status Reserve(const PortOptions& options);
  void Release(const PortOptions& options);
  void DetachEdge(Edge* edge);
  void Reap();

  Transport* const transport_;
  const EngineOptions options_;
  mutable EngineStats stats_;  // stats() sets the current values
  BufferPool buffers_;
  ReadyQueue ready_;
  LabelTable labels_;
  PortTable ports_;
  RecordSender sender_;
  SequenceRunner runner_;
  RecordReceiver receiver_;
  bool in_progress_ = false;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ENGINE_H_
