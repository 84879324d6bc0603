// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/port.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "offload_emu/counter.h"

namespace copse::emu {
namespace {

// A get's number combines its index in gets_ with a count of that index's uses, so that a late reply finds no get.
constexpr uint32_t kGetPlaceBits = 16;
constexpr uint32_t kGetGenerationMask = (1u << (32 - kGetPlaceBits)) - 1;

}  // namespace

uint64_t Port::ReservedBytes(const PortOptions& options) {
  return options.cell_bytes == 0 ? 0 : options.slots * BufferPool::RoundedBytes(options.cell_bytes);
}

Port::Port(PortId id, uint64_t owner, const PortOptions& options, PortSink* sink, BufferPool* pool)
    : id_(id),
      options_(options),
      sink_(sink),
      has_calls_(options.mpq_entries == 0 || options.cell_bytes > 0),
      cells_(pool, owner, options.cell_bytes),
      calls_(options.slots, options.counters_per_slot, options.edges),
      mpq_(options.mpq_entries) {}

Port::~Port() {
  for (uint32_t i = 0; i < edge_count(); ++i) RemoveEdge(i);
  for (uint32_t i = 0; i < options_.slots; ++i) ReleaseSlot(i);
}

absl::Status Port::Bind(RegionIndex index, const BoundRegion& region) {
  if (index >= options_.regions) {
    return absl::InvalidArgumentError(absl::StrCat("region ", index, " (limit ", options_.regions, ")"));
  }
  if (region.base != nullptr && regions_.size() <= index) regions_.resize(index + 1);
  if (index < regions_.size()) regions_[index] = region;
  return absl::OkStatus();
}

RegionIndex Port::region_count() const { return options_.regions + (options_.edges + 1) * options_.slots; }

RegionIndex Port::CellRegion(uint32_t edge, uint32_t slot) const {
  return options_.regions + edge * options_.slots + slot;
}

RegionIndex Port::ScratchRegion(uint32_t slot) const { return CellRegion(options_.edges, slot); }

uint8_t* Port::Resolve(const MemoryRef& ref, uint64_t bytes, bool write) {
  if (ref.region < options_.regions) {
    if (ref.region >= regions_.size()) return nullptr;
    const BoundRegion& region = regions_[ref.region];
    if (region.base == nullptr || (write && !region.writable)) return nullptr;
    if (bytes > region.bytes || ref.offset > region.bytes - bytes) return nullptr;
    return region.base + ref.offset;
  }
  if (ref.region >= region_count() || options_.cell_bytes == 0) return nullptr;
  const uint32_t index = (ref.region - options_.regions) / options_.slots;
  const uint32_t at = (ref.region - options_.regions) % options_.slots;
  if (index == options_.edges) return cells_.At(&calls_.slot(at).scratch, ref.offset, bytes);
  Edge* of = edge(index);
  if (of == nullptr) return nullptr;
  if (of->cells == nullptr) of->cells = std::make_unique<Cell[]>(options_.slots);
  return cells_.At(&of->cells[at], ref.offset, bytes);
}

uint32_t Port::FreeEdge() const {
  for (uint32_t i = 0; i < edge_count(); ++i) {
    if (edges_[i] == nullptr) return i;
  }
  return std::min(edge_count(), options_.edges);
}

Edge* Port::AddEdge(uint32_t index, Peer* peer) {
  if (index == edge_count()) edges_.emplace_back();
  CHECK(edges_[index] == nullptr);
  edges_[index] = std::make_unique<Edge>(this, index, peer, options_.slots);
  return edges_[index].get();
}

void Port::RemoveEdge(uint32_t index) {
  Edge* of = edge(index);
  if (of == nullptr) return;
  CHECK(of->waiting.empty());
  while (PendingGet* get = FirstGetOf(index)) RemoveGet(get);
  for (uint32_t i = 0; of->cells != nullptr && i < options_.slots; ++i) cells_.Release(&of->cells[i]);
  calls_.ForgetEdge(index);  // the next edge with this number has sent nothing yet
  edges_[index].reset();
}

void Port::ReleaseSlot(uint32_t index) {
  cells_.Release(&calls_.slot(index).scratch);
  for (const std::unique_ptr<Edge>& edge : edges_) {
    if (edge != nullptr && edge->cells != nullptr) cells_.Release(&edge->cells[index]);
  }
  calls_.Clear(index);
}

bool Port::Finish(uint64_t call) {
  ReleaseSlot(calls_.SlotOf(call));
  return calls_.Finish(call);
}

uint64_t Port::CheckInvariants() const {
  uint32_t sequences = 0, events = 0;
  uint64_t waiting = 0, listed = 0;
  for (uint32_t index = 0; index < calls_.slots().size(); ++index) {
    const CallSlot& slot = calls_.slot(index);
    CHECK(!slot.finished || slot.sequences.front() == nullptr);  // a call that is over runs nothing
    for (const Sequence* s = slot.sequences.front(); s != nullptr; s = s->slot_next) {
      CHECK(s->port == this);
      CHECK_EQ(s->slot, index);
      CHECK(!s->dropped);
      CHECK_LT(s->current, s->count);
      CHECK(s->state != SequenceState::kRunning);
      CHECK(!s->lands || s->state == SequenceState::kArmed);
      ++sequences;
      events += s->events;
      waiting += s->state == SequenceState::kWaiting ? 1 : 0;
    }
    for (uint32_t c = 0; slot.block != nullptr && c < slot.block->counter_count(); ++c) {
      const Counter& counter = slot.block->counter(c);
      uint64_t threshold = counter.success + counter.failure + 1;  // sequences at or below the count have fired
      for (const Sequence* s = counter.armed.front(); s != nullptr; s = s->next) {
        CHECK(s->state == SequenceState::kArmed);
        CHECK_GE(s->threshold, threshold);
        threshold = s->threshold;
      }
    }
  }
  CHECK_EQ(sequences_used, sequences);
  CHECK_LE(sequences, options_.sequences);
  CHECK_EQ(events_armed, events);
  CHECK_LE(events, options_.eq_entries);
  // The prefix of finished calls ends where one is not finished.
  CHECK(!has_calls_ || calls_.Has(calls_.finished()));
  for (uint32_t index = 0; index < edge_count(); ++index) {
    const Edge* const edge = edges_[index].get();
    if (edge == nullptr) continue;
    CHECK(edge->port == this);
    CHECK_EQ(edge->index, index);
    CHECK_LE(edge->gets_outstanding, kGetsPerEdgeMax);
    for (const Sequence* s = edge->waiting.front(); s != nullptr; s = s->next) {
      CHECK(s->state == SequenceState::kWaiting);
      CHECK_EQ(s->wait_edge, index);
      ++listed;
    }
  }
  CHECK_EQ(waiting, listed);
  return waiting;
}

uint32_t Port::AddGet(const PendingGet& get) {
  uint32_t place = 0;
  while (place < gets_.size() && gets_[place].used) ++place;
  if (place == gets_.size()) gets_.emplace_back();
  CHECK_LT(place, 1u << kGetPlaceBits);
  const uint32_t generation = (gets_[place].generation + 1) & kGetGenerationMask;
  gets_[place] = get;
  gets_[place].used = true;
  gets_[place].generation = generation;
  ++edge(get.edge)->gets_outstanding;
  return generation << kGetPlaceBits | place;
}

PendingGet* Port::FindGet(uint32_t number) {
  const uint32_t place = number & ((1u << kGetPlaceBits) - 1);
  if (place >= gets_.size() || !gets_[place].used) return nullptr;
  return gets_[place].generation == number >> kGetPlaceBits ? &gets_[place] : nullptr;
}

void Port::RemoveGet(PendingGet* get) {
  get->used = false;
  --edge(get->edge)->gets_outstanding;
}

PendingGet* Port::FirstGetOf(uint32_t edge) {
  for (PendingGet& get : gets_) {
    if (get.used && get.edge == edge) return &get;
  }
  return nullptr;
}

void Port::DropGets(uint32_t slot) {
  for (PendingGet& get : gets_) {
    if (get.used && get.slot == slot) RemoveGet(&get);
  }
}

}  // namespace copse::emu
