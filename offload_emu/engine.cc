// SPDX-License-Identifier: Apache-2.0
//
// Implements the engine's calls for its owner: ports, edges, calls, Progress.
#include "offload_emu/engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "offload_emu/peer.h"

namespace copse::emu {
namespace {

constexpr uint32_t kSlotsMax = 4096;
constexpr uint32_t kCountersPerSlotMax = 65536;
constexpr uint32_t kRegionsMax = 1u << 20;
constexpr uint32_t kEdgesMax = 4096;
constexpr uint32_t kQueueEntriesMax = 65536;  // limit of an MPQ, and of an EQ

}  // namespace

Engine::Engine(Transport* transport, ControlSink* control, EngineOptions options)
    : transport_(transport),
      control_(control),
      options_(options),
      trace_(options.trace),
      buffers_(options.retained_bytes_max),
      ready_(options.quantum_bytes),
      labels_(options.incarnation) {
  CHECK_GT(options_.quantum_bytes, 0u);
}

Engine::~Engine() {
  for (const PortEntry& entry : ports_) {
    if (entry.port != nullptr) ClosePort(entry.port->id());
  }
}

Port* Engine::Find(PortId id) const {
  if (id.index >= ports_.size() || ports_[id.index].generation != id.generation) return nullptr;
  return ports_[id.index].port.get();
}

absl::Status Engine::CheckOptions(const PortOptions& options) const {
  RETURN_IF_ERROR(CheckAtMost("slots", options.slots, kSlotsMax));
  if (!std::has_single_bit(options.slots)) {
    return absl::InvalidArgumentError(absl::StrCat("slots ", options.slots, ": not a power of two"));
  }
  if (options.counters_per_slot == 0) return absl::InvalidArgumentError("counters_per_slot 0 (at least 1)");
  RETURN_IF_ERROR(CheckAtMost("counters_per_slot", options.counters_per_slot, kCountersPerSlotMax));
  RETURN_IF_ERROR(CheckAtMost("regions", options.regions, kRegionsMax));
  RETURN_IF_ERROR(CheckAtMost("edges", options.edges, kEdgesMax));
  RETURN_IF_ERROR(CheckAtMost("mpq_entries", options.mpq_entries, kQueueEntriesMax));
  RETURN_IF_ERROR(CheckAtMost("eq_entries", options.eq_entries, kQueueEntriesMax));
  RETURN_IF_ERROR(CheckAtMost("cell_bytes", options.cell_bytes, BufferPool::kBytesMax));
  if (options.sequences > options_.sequences_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("sequences ", options.sequences, " (limit ", options_.sequences_max, ")"));
  }
  if (ports_open_ >= options_.ports_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("ports: ", ports_open_, " are open (limit ", options_.ports_max, ")"));
  }
  return absl::OkStatus();
}

absl::Status Engine::Reserve(uint64_t bytes) {
  if (bytes > options_.memory_limit_bytes - stats_.memory_reserved_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("memory for cells: ", bytes, " bytes more than the ",
                                                     stats_.memory_reserved_bytes, " reserved (limit ",
                                                     options_.memory_limit_bytes, ")"));
  }
  stats_.memory_reserved_bytes += bytes;
  return absl::OkStatus();
}

absl::StatusOr<PortId> Engine::OpenPort(const PortOptions& options, PortSink* sink) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(Reserve(Port::ReservedBytes(options)));
  PortId id;
  if (free_ports_.empty()) {
    id.index = static_cast<uint32_t>(ports_.size());
    ports_.emplace_back();
  } else {
    id.index = free_ports_.front();
    free_ports_.pop_front();
  }
  PortEntry& entry = ports_[id.index];
  id.generation = ++entry.generation;
  entry.port = std::make_unique<Port>(id, next_owner_++, options, sink, &buffers_);
  entry.port->job = ready_.AddPort(options.job);
  ++ports_open_;
  return id;
}

void Engine::ClosePort(PortId id) {
  Port* port = Find(id);
  if (port == nullptr) return;
  for (uint32_t slot = 0; slot <= port->options().slots; ++slot) DropSequences(port, slot);
  for (uint32_t i = 0; i < port->edge_count(); ++i) {
    if (port->edge(i) != nullptr) DetachEdge(port->edge(i));
  }
  stats_.memory_reserved_bytes -= Port::ReservedBytes(port->options());
  --ports_open_;
  free_ports_.push_back(id.index);
  // A running sequence may still refer to the port.
  closed_ports_.push_back(std::move(ports_[id.index].port));
  if (!in_progress_) Reap();
}

void Engine::NameInTrace(PortId id, TeamId team, CallSeq first_call) {
  Port* port = Find(id);
  if (port == nullptr) return;
  port->trace_team = static_cast<uint32_t>(team.value());
  port->trace_first_call = static_cast<uint32_t>(first_call.value());
}

absl::Status Engine::BindRegion(PortId id, RegionIndex index, uint8_t* base, uint64_t bytes, bool writable) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  return port->Bind(index, BoundRegion{base, bytes, writable});
}

absl::StatusOr<Engine::NewEdge> Engine::AddEdge(PortId id, Incarnation peer) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  const uint32_t index = port->FreeEdge();
  if (index == port->options().edges) {
    return absl::InvalidArgumentError(absl::StrCat("edges: all ", index, " of the port are in use"));
  }
  RETURN_IF_ERROR(Reserve(Port::ReservedBytes(port->options())));
  Peer* to = PeerOf(peer);
  Edge* edge = port->AddEdge(index, to);
  edge->local = labels_.Issue({port, index});
  to->edges.push_back(edge);
  return NewEdge{index, edge->local};
}

absl::Status Engine::SetRemoteLabel(PortId id, uint32_t index, Label remote) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  Edge* edge = port->edge(index);
  if (edge == nullptr) return absl::NotFoundError(absl::StrCat("edge ", index, " does not exist"));
  if (remote == kNoLabel) return absl::InvalidArgumentError("label 0");
  edge->remote = remote;
  WakeWaiting(edge);
  MarkDue(edge);  // records that came earlier may need a credit report
  return absl::OkStatus();
}

// Removes the edge from all data structures except its port's.
void Engine::DetachEdge(Edge* edge) {
  labels_.Retire(edge->local);
  Peer* peer = edge->peer;
  peer->edges.erase(std::find(peer->edges.begin(), peer->edges.end(), edge));
  if (edge->due) peer->due.erase(std::find(peer->due.begin(), peer->due.end(), edge));
  if (peer->edges.empty()) idle_peers_.push_back(peer->incarnation);
  stats_.memory_reserved_bytes -= Port::ReservedBytes(edge->port->options());
}

void Engine::RemoveEdge(PortId id, uint32_t index) {
  Port* port = Find(id);
  Edge* edge = port == nullptr ? nullptr : port->edge(index);
  if (edge == nullptr) return;
  WakeWaiting(edge);  // woken sends find no edge, and fail
  while (PendingGet* get = port->FirstGetOf(index)) {
    const CounterIndex counter = get->counter;
    port->RemoveGet(get);
    if (counter != kNoCounter) AddCount(port, counter, 0, 1);
  }
  DetachEdge(edge);
  port->RemoveEdge(index);
}

absl::Status Engine::ExpectHash(PortId id, CallSeq seq, uint16_t hash) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  if (!port->InWindow(seq.value())) {
    return absl::InvalidArgumentError(absl::StrCat("call ", seq.value(), " is outside the window [", port->finished(),
                                                   ", +", port->options().slots, ")"));
  }
  const uint32_t at = port->SlotOf(seq.value());
  Port::CallSlot& slot = port->slot(at);
  if (slot.hash_expected) {
    if (slot.hash == hash) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("call ", seq.value(), " expects hash ", slot.hash, ", not ", hash));
  }
  slot.hash_expected = true;
  slot.hash = hash;
  if (slot.block == nullptr) return absl::OkStatus();
  // Counts the packets that arrived earlier with this hash, then reports those with another.
  CounterBlock& block = *slot.block;
  const uint32_t counters = port->options().counters_per_slot;
  for (uint32_t edge = 0; edge < port->edge_count(); ++edge) {
    if (!block.edge(edge).hash_seen || block.edge(edge).hash != hash) continue;
    for (uint32_t i = 0; i < counters; ++i) {
      if (!block.Arrived(edge, i)) continue;
      const bool failed = block.ArrivedFailed(edge, i);
      AddCount(port, at * counters + i, failed ? 0 : 1, failed ? 1 : 0);
    }
  }
  for (uint32_t edge = 0; edge < port->edge_count(); ++edge) {
    // An OnMismatch before may have finished the call.
    if (port->slot(at).block.get() != &block || !port->InWindow(seq.value())) break;
    CounterBlock::EdgeState& state = block.edge(edge);
    if (!state.hash_seen || state.hash == hash || state.mismatch_reported) continue;
    state.mismatch_reported = true;
    ++stats_.dropped_mismatch;
    port->sink()->OnMismatch(id, edge, static_cast<uint16_t>(seq.value()), state.hash);
    if (Find(id) != port) break;
  }
  return absl::OkStatus();
}

absl::Status Engine::FinishCall(PortId id, CallSeq seq) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  if (!port->InWindow(seq.value())) {
    return absl::InvalidArgumentError(absl::StrCat("call ", seq.value(), " is outside the window [", port->finished(),
                                                   ", +", port->options().slots, "), or over"));
  }
  const uint32_t slot = port->SlotOf(seq.value());
  DropSequences(port, slot);
  port->DropGets(slot);
  if (!port->Finish(seq.value())) return absl::OkStatus();
  for (uint32_t i = 0; i < port->edge_count(); ++i) {
    Edge* edge = port->edge(i);
    if (edge == nullptr) continue;
    if (edge->credit.ReportDue(port->finished())) MarkDue(edge);
    if (!edge->waiting.empty() && edge->gets_outstanding < kGetsPerEdgeMax) WakeWaiting(edge);
  }
  return absl::OkStatus();
}

// Frees the objects that could not be freed while sequences ran.
void Engine::Reap() {
  for (std::unique_ptr<Port>& port : closed_ports_) ready_.RemovePort(port->job);
  closed_ports_.clear();
  for (const Incarnation incarnation : idle_peers_) {
    const auto it = peers_.find(incarnation);
    if (it == peers_.end()) continue;
    const Peer& peer = *it->second;
    if (peer.edges.empty() && !peer.dirty && peer.outbox.empty()) peers_.erase(it);
  }
  idle_peers_.clear();
}

bool Engine::Progress(uint64_t budget_bytes) {
  CHECK(!in_progress_);
  in_progress_ = true;
  if (trace_ != nullptr) trace_->NewTurn();
  bool did = transport_->Progress(this);
  if (!mismatches_.empty()) ReportMismatches();
  do {
    did |= RunReady(&budget_bytes);
    Flush();
    ReportLost();
  } while (budget_bytes > 0 && ready_.Turn() != nullptr);
  in_progress_ = false;
  Reap();
  return did || ready_.Turn() != nullptr;
}

const EngineStats& Engine::stats() const {
  stats_.memory_used_bytes = buffers_.used_bytes();
  stats_.memory_used_bytes_max = buffers_.used_bytes_max();
  stats_.frames_waiting = 0;
  for (const Peer* peer : dirty_) stats_.frames_waiting += peer->outbox.frame_count();
  return stats_;
}

void Engine::CheckInvariants() const {
  CHECK(!in_progress_ && !is_in_network_);
  CHECK(closed_ports_.empty());
  uint32_t open = 0;
  uint64_t waiting = 0;
  for (size_t index = 0; index < ports_.size(); ++index) {
    const Port* const port = ports_[index].port.get();
    if (port == nullptr) continue;
    ++open;
    CHECK_EQ(port->id().index, index);
    CHECK(Find(port->id()) == port);
    waiting += port->CheckInvariants();
    for (uint32_t i = 0; i < port->edge_count(); ++i) {
      const Edge* const edge = port->edge(i);
      if (edge == nullptr) continue;
      const LabelTable::Target* const target = labels_.Find(edge->local);
      CHECK(target != nullptr && target->port == port && target->edge == i);
      const std::vector<Edge*>& edges = edge->peer->edges;
      CHECK(std::find(edges.begin(), edges.end(), edge) != edges.end());
    }
  }
  CHECK_EQ(ports_open_, open);
  CHECK_EQ(stats_.sends_waiting, waiting);
  for (const Peer* peer : dirty_) CHECK(peer->dirty);
  for (const auto& [incarnation, peer] : peers_) {
    CHECK(peer->incarnation == incarnation);
    for (const Edge* edge : peer->due) CHECK(edge->due && edge->peer == peer.get());
  }
}

RegionIndex Engine::CellRegion(PortId id, uint32_t edge, uint32_t slot) const {
  const Port* port = Find(id);
  return port == nullptr ? kNoRegion : port->CellRegion(edge, slot);
}

RegionIndex Engine::ScratchRegion(PortId id, uint32_t slot) const {
  const Port* port = Find(id);
  return port == nullptr ? kNoRegion : port->ScratchRegion(slot);
}

CallSeq Engine::Finished(PortId id) const {
  const Port* port = Find(id);
  return CallSeq(port == nullptr ? 0 : port->finished());
}

bool Engine::PopPacket(PortId id, MpPacket* packet, uint32_t* payload_bytes) {
  Port* port = Find(id);
  return port != nullptr && port->mpq().Pop(packet, payload_bytes);
}

}  // namespace copse::emu
