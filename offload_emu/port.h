// SPDX-License-Identifier: Apache-2.0
//
// Holds a virtual port's state in the engine: its table of regions, its edges, and each call's slot.
#ifndef COPSE_OFFLOAD_EMU_PORT_H_
#define COPSE_OFFLOAD_EMU_PORT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "offload_emu/cell_memory.h"
#include "offload_emu/credit.h"
#include "offload_emu/memory_owner.h"
#include "offload_emu/mpq.h"
#include "offload_emu/pool.h"
#include "offload_emu/ready_queue.h"
#include "offload_emu/sequence.h"
#include "offload_emu/slot_window.h"

namespace copse::emu {

struct Peer;

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
  // Neighbors may read bound regions by gets, and write them by puts. Without it such records are dropped: what they
  // would do to memory that the owner has lent is not for peers to choose.
  bool remote_access = false;
  MemoryOwner* owner = nullptr;  // is charged for the port's memory, and must outlive the port; null: nobody
};

// A CounterValue is a copy of the two halves of a counter.
struct CounterValue {
  uint64_t success = 0;
  uint64_t failure = 0;
};

// A PortSink receives the callbacks of a port on the engine's thread, from Progress (OnMismatch and OnWrongArrival also
// from ExpectHash). They may call the engine, except Progress and CheckInvariants; they may close their own port.
class PortSink {
 public:
  virtual ~PortSink() = default;
  // It is called when a kEvent descriptor runs. `failed`: its trigger or an earlier operation of its sequence had
  // failed.
  virtual void OnEvent(PortId port, uint64_t value, bool failed) = 0;
  // It is called if a packet or put for call `sequence` (modulo 2^16) has another hash than ExpectHash set, before or
  // after the packet arrived, once per edge and call. Such packets never count.
  virtual void OnMismatch(PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) = 0;
  // It is called instead if the hash is right, but the call awaits none such from the edge (ExpectArrivals): `awaited`
  // is what it awaits for that counter, or null. The record does not count, and its payload is not in any result.
  virtual void OnWrongArrival(PortId port, uint16_t sequence, const Arrival& arrived, const Arrival* awaited) = 0;
};

// A GetRequest is a neighbor's request for bytes of this port, to be answered when the outbox has room.
struct GetRequest {
  MpHeader header;
  uint32_t counter = 0;
  uint32_t bytes = 0;
  uint32_t region = 0;
  uint64_t offset = 0;
  uint32_t reply_label = 0;
  uint32_t reply_region = 0;
};

// Limits one edge's unanswered requests. Each side respects it, so more of them are a peer's error.
inline constexpr uint32_t kGetsPerEdgeMax = 16;

// An Edge connects a port with one neighbor, in both directions.
struct Edge {
  Edge(Port* port, uint32_t index, Peer* peer, uint32_t slots) : port(port), index(index), peer(peer), credit(slots) {}

  Port* const port;
  const uint32_t index;
  Peer* const peer;
  Label local = kNoLabel;   // issued by this engine; the peer's records carry it
  Label remote = kNoLabel;  // issued by the peer; this engine's records carry it
  Credit credit;
  bool due = false;               // on its peer's list of edges with credit, an ask or answers to send
  uint32_t gets_outstanding = 0;  // sent by this side and not yet answered
  SequenceList waiting;
  std::unique_ptr<Cell[]> cells;  // by slot; null until one is used
  std::vector<GetRequest> requests;
};

// A PendingGet is a request of this port that waits for its reply.
struct PendingGet {
  bool used = false;
  uint32_t generation = 0;
  uint32_t edge = 0;
  uint32_t slot = 0;
  uint32_t bytes = 0;
  MemoryRef target;
  CounterIndex counter = kNoCounter;
};

struct BoundRegion {
  uint8_t* base = nullptr;
  uint64_t bytes = 0;
  bool writable = false;
};

// A Port keeps the tables of one virtual port, on which the engine operates. `*pool` must outlive it.
// Thread-compatible.
class Port {
 public:
  // Returns the most bytes that all scratch regions can take, and also the eager buffers of one edge.
  static uint64_t ReservedBytes(const PortOptions& options);

  Port(PortId id, uint64_t owner, const PortOptions& options, PortSink* sink, BufferPool* pool);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port();

  PortId id() const { return id_; }
  const PortOptions& options() const { return options_; }
  PortSink* sink() const { return sink_; }
  // Returns whether the port has calls, as a team's port has: window, credit, hashes, and each packet counts once.
  // Ports without calls have an MPQ.
  bool has_calls() const { return has_calls_; }

  // --- Memory ---
  absl::Status Bind(RegionIndex index, const BoundRegion& region);
  RegionIndex region_count() const;
  RegionIndex CellRegion(uint32_t edge, uint32_t slot) const;
  RegionIndex ScratchRegion(uint32_t slot) const;
  bool IsCell(RegionIndex region) const { return region >= options_.regions && region < ScratchRegion(0); }
  // Returns the memory of [offset, offset + bytes), allocated if it is an eager buffer or scratch. Returns null if out
  // of bounds, unbound, or read-only with `write`. The result is valid until another Resolve of the same buffer, or its
  // release.
  uint8_t* Resolve(const MemoryRef& ref, uint64_t bytes, bool write);

  // --- Edges ---
  Edge* edge(uint32_t index) const { return index < edges_.size() ? edges_[index].get() : nullptr; }
  uint32_t edge_count() const { return static_cast<uint32_t>(edges_.size()); }  // removed edges included
  uint32_t FreeEdge() const;  // lowest free index; options().edges if there is none
  Edge* AddEdge(uint32_t index, Peer* peer);
  void RemoveEdge(uint32_t index);

  // --- Calls ---
  SlotWindow& calls() { return calls_; }
  const SlotWindow& calls() const { return calls_; }
  // Releases the slot's eager buffers, scratch, counters and hash. Precondition: its sequences were dropped.
  void ReleaseSlot(uint32_t slot);
  // Releases the slot of `call`, which is in the window, and marks the call as over. Returns true if the prefix grew.
  bool Finish(uint64_t call);

  // --- Gets ---
  // Assigns a number to a request. Precondition: fewer than kGetsPerEdgeMax of the edge are pending.
  uint32_t AddGet(const PendingGet& get);
  // Returns the pending request with this number, or null if there is none.
  PendingGet* FindGet(uint32_t number);
  void RemoveGet(PendingGet* get);
  PendingGet* FirstGetOf(uint32_t edge);  // null if there is none
  void DropGets(uint32_t slot);

  MiniPacketQueue& mpq() { return mpq_; }

  // Dies if an invariant does not hold. Returns how many sequences wait for an edge.
  uint64_t CheckInvariants() const;

  uint32_t sequences_used = 0;
  uint32_t events_armed = 0;
  ReadyJob* job = nullptr;
  // These are fields of the port's trace records.
  uint32_t trace_team = 0;
  uint32_t trace_first_call = 0;

 private:
  const PortId id_;
  const PortOptions options_;
  PortSink* const sink_;
  const bool has_calls_;
  std::vector<BoundRegion> regions_;
  std::vector<std::unique_ptr<Edge>> edges_;
  CellMemory cells_;
  SlotWindow calls_;
  std::vector<PendingGet> gets_;
  MiniPacketQueue mpq_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_PORT_H_
