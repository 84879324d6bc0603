// SPDX-License-Identifier: Apache-2.0
//
// Implements the engine's calls for its owner: ports, edges, calls, Progress.
#include "offload_emu/engine.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "offload_emu/descriptor_check.h"

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
      options_(options),
      buffers_(options.retained_bytes_max),
      ready_(options.quantum_bytes),
      labels_(options.incarnation, options.random),
      sender_(transport, options.incarnation, &buffers_, &ready_, PortTrace(options.trace), &stats_),
      runner_(&ready_, &sender_, &stats_),
      receiver_({.labels = &labels_, .ports = &ports_, .sender = &sender_, .runner = &runner_, .control = control},
                &stats_) {
  CHECK_GT(options_.quantum_bytes, 0u);
}

Engine::~Engine() {
  for (const Port* port : ports_.open()) ClosePort(port->id());
}

absl::Status Engine::NoSuchPort(PortId id) {
  return absl::NotFoundError(absl::StrCat("port ", id.index, " generation ", id.generation, " is not open"));
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
  if (ports_.open_count() >= options_.ports_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("ports: ", ports_.open_count(), " are open (limit ", options_.ports_max, ")"));
  }
  return absl::OkStatus();
}

absl::Status Engine::Reserve(const PortOptions& options) {
  const uint64_t bytes = Port::ReservedBytes(options);
  if (options.owner != nullptr) RETURN_IF_ERROR(options.owner->Charge(bytes));
  if (bytes > options_.memory_limit_bytes - stats_.memory_reserved_bytes) {
    if (options.owner != nullptr) options.owner->Discharge(bytes);
    return absl::ResourceExhaustedError(absl::StrCat("memory for cells: ", bytes, " bytes more than the ",
                                                     stats_.memory_reserved_bytes, " reserved (limit ",
                                                     options_.memory_limit_bytes, ")"));
  }
  stats_.memory_reserved_bytes += bytes;
  return absl::OkStatus();
}

void Engine::Release(const PortOptions& options) {
  const uint64_t bytes = Port::ReservedBytes(options);
  if (options.owner != nullptr) options.owner->Discharge(bytes);
  stats_.memory_reserved_bytes -= bytes;
}

absl::StatusOr<PortId> Engine::OpenPort(const PortOptions& options, PortSink* sink) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(Reserve(options));
  return ports_.Open(options, sink, &buffers_, &ready_);
}

void Engine::SetWeight(uint32_t job, uint32_t weight) {
  CHECK_GE(weight, 1u);
  ready_.SetWeight(job, weight);
}

void Engine::ClosePort(PortId id) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return;
  for (uint32_t slot = 0; slot <= port->options().slots; ++slot) runner_.DropSequences(port, slot);
  for (uint32_t i = 0; i < port->edge_count(); ++i) {
    if (port->edge(i) != nullptr) DetachEdge(port->edge(i));
  }
  Release(port->options());
  ports_.Close(id);
  if (!in_progress_) Reap();
}

void Engine::NameInTrace(PortId id, TeamId team, CallSeq first_call) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return;
  port->trace_team = static_cast<uint32_t>(team.value());
  port->trace_first_call = static_cast<uint32_t>(first_call.value());
}

absl::Status Engine::BindRegion(PortId id, RegionIndex index, uint8_t* base, uint64_t bytes, bool writable) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return NoSuchPort(id);
  return port->Bind(index, BoundRegion{base, bytes, writable});
}

absl::StatusOr<Engine::NewEdge> Engine::AddEdge(PortId id, Incarnation peer, Label wanted) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return NoSuchPort(id);
  const uint32_t index = port->FreeEdge();
  if (index == port->options().edges) {
    return absl::InvalidArgumentError(absl::StrCat("edges: all ", index, " of the port are in use"));
  }
  if (wanted != kNoLabel && labels_.Find(wanted) != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("label in use (label=", static_cast<uint32_t>(wanted), ")"));
  }
  RETURN_IF_ERROR(Reserve(port->options()));
  Peer* to = sender_.PeerOf(peer);
  Edge* edge = port->AddEdge(index, to);
  if (wanted == kNoLabel) {
    edge->local = labels_.Issue({port, index});
  } else {
    edge->local = wanted;
    labels_.IssueAs(wanted, {port, index});
  }
  to->edges.push_back(edge);
  return NewEdge{index, edge->local};
}

absl::Status Engine::SetRemoteLabel(PortId id, uint32_t index, Label remote) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return NoSuchPort(id);
  Edge* edge = port->edge(index);
  if (edge == nullptr) return absl::NotFoundError(absl::StrCat("edge ", index, " does not exist"));
  if (remote == kNoLabel) return absl::InvalidArgumentError("label 0");
  edge->remote = remote;
  sender_.WakeWaiting(edge);
  sender_.MarkDue(edge);  // records that came earlier may need a credit report
  return absl::OkStatus();
}

// Removes the edge from all data structures except its port's.
void Engine::DetachEdge(Edge* edge) {
  labels_.Retire(edge->local);
  sender_.Detach(edge);
  Release(edge->port->options());
}

void Engine::RemoveEdge(PortId id, uint32_t index) {
  Port* port = ports_.Find(id);
  Edge* edge = port == nullptr ? nullptr : port->edge(index);
  if (edge == nullptr) return;
  sender_.WakeWaiting(edge);  // woken sends find no edge, and fail
  while (PendingGet* get = port->FirstGetOf(index)) {
    const CounterIndex counter = get->counter;
    port->RemoveGet(get);
    if (counter != kNoCounter) runner_.Count(port, counter, 0, 1);
  }
  DetachEdge(edge);
  port->RemoveEdge(index);
}

absl::Status Engine::Post(PortId id, const Trigger& trigger, absl::Span<const Descriptor> descriptors) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return NoSuchPort(id);
  RETURN_IF_ERROR(CheckSequence(*port, trigger, descriptors));
  runner_.Arm(port, SlotOf(*port, trigger, descriptors), trigger, descriptors);
  return absl::OkStatus();
}

absl::Status Engine::Count(PortId id, CounterIndex counter, uint64_t success, uint64_t failure) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return NoSuchPort(id);
  RETURN_IF_ERROR(CheckCounter(*port, counter));
  RETURN_IF_ERROR(CheckNotOver(*port, counter / port->options().counters_per_slot));
  runner_.Count(port, counter, success, failure);
  return absl::OkStatus();
}

CounterValue Engine::ReadCounter(PortId id, CounterIndex index) const {
  Port* port = ports_.Find(id);
  if (port == nullptr || !CheckCounter(*port, index).ok()) return {};
  if (port->calls().slot(index / port->options().counters_per_slot).block == nullptr) return {};
  const Counter& counter = port->calls().counter(index);
  return {counter.success, counter.failure};
}

absl::Status Engine::ExpectHash(PortId id, CallSeq seq, uint16_t hash) {
  Port* port = ports_.Find(id);
  return port == nullptr ? NoSuchPort(id) : receiver_.ExpectHash(port, seq, hash);
}

absl::Status Engine::ExpectArrivals(PortId id, CallSeq seq, absl::Span<const Arrival> arrivals) {
  Port* port = ports_.Find(id);
  return port == nullptr ? NoSuchPort(id) : receiver_.ExpectArrivals(port, seq, arrivals);
}

absl::Status Engine::FinishCall(PortId id, CallSeq seq) {
  Port* port = ports_.Find(id);
  if (port == nullptr) return NoSuchPort(id);
  RETURN_IF_ERROR(CheckInWindow(*port, seq));
  const uint32_t slot = port->calls().SlotOf(seq.value());
  runner_.DropSequences(port, slot);
  port->DropGets(slot);
  if (!port->Finish(seq.value())) return absl::OkStatus();
  for (uint32_t i = 0; i < port->edge_count(); ++i) {
    Edge* edge = port->edge(i);
    if (edge == nullptr) continue;
    if (edge->credit.ReportDue(port->calls().finished())) sender_.MarkDue(edge);
    if (!edge->waiting.empty() && edge->gets_outstanding < kGetsPerEdgeMax) sender_.WakeWaiting(edge);
  }
  return absl::OkStatus();
}

// Frees the objects that could not be freed while sequences ran.
void Engine::Reap() {
  ports_.Reap(&ready_);
  sender_.Reap();
}

bool Engine::Progress(uint64_t budget_bytes) {
  CHECK(!in_progress_);
  in_progress_ = true;
  if (options_.trace != nullptr) options_.trace->NewTurn();
  bool did = transport_->Progress(&receiver_);
  receiver_.ReportMismatches();
  do {
    did |= runner_.Run(&budget_bytes);
    sender_.Flush();
    receiver_.ReportLost();
  } while (budget_bytes > 0 && ready_.Turn() != nullptr);
  in_progress_ = false;
  Reap();
  return did || ready_.Turn() != nullptr;
}

const EngineStats& Engine::stats() const {
  stats_.memory_used_bytes = buffers_.used_bytes();
  stats_.memory_used_bytes_max = buffers_.used_bytes_max();
  stats_.frames_waiting = sender_.frames_waiting();
  return stats_;
}

void Engine::CheckInvariants() const {
  CHECK(!in_progress_ && !receiver_.is_in_network());
  CHECK(!ports_.has_closed());
  const std::vector<Port*> open = ports_.open();
  uint64_t waiting = 0;
  for (const Port* const port : open) {
    CHECK(ports_.Find(port->id()) == port);
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
  CHECK_EQ(ports_.open_count(), open.size());
  CHECK_EQ(stats_.sends_waiting, waiting);
  sender_.CheckInvariants();
}

RegionIndex Engine::CellRegion(PortId id, uint32_t edge, uint32_t slot) const {
  const Port* port = ports_.Find(id);
  return port == nullptr ? kNoRegion : port->CellRegion(edge, slot);
}

RegionIndex Engine::ScratchRegion(PortId id, uint32_t slot) const {
  const Port* port = ports_.Find(id);
  return port == nullptr ? kNoRegion : port->ScratchRegion(slot);
}

absl::Status Engine::SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message,
                                 ControlPlace place) {
  return sender_.SendControl(peer, type, message, place);
}

CallSeq Engine::Finished(PortId id) const {
  const Port* port = ports_.Find(id);
  return CallSeq(port == nullptr ? 0 : port->calls().finished());
}

bool Engine::PopPacket(PortId id, MpPacket* packet, uint32_t* payload_bytes) {
  Port* port = ports_.Find(id);
  return port != nullptr && port->mpq().Pop(packet, payload_bytes);
}

}  // namespace copse::emu
