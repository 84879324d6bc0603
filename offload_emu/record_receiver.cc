// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/record_receiver.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "offload_emu/descriptor_check.h"
#include "offload_emu/peer.h"

namespace copse::emu {
namespace {

// Returns the bytes of payload that follow the record in the frame, without padding.
uint32_t PayloadBytes(const Record& record) {
  return static_cast<RecordKind>(record.kind) == RecordKind::kGet ? 0 : record.bytes;
}

bool WellFormed(const Record& record) {
  if ((record.flags & ~(kRecordTrigger | kRecordError | kRecordReply)) != 0) return false;
  const bool error = (record.flags & kRecordError) != 0;
  const bool reply = (record.flags & kRecordReply) != 0;
  switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::kPacket:
      return record.bytes <= (error ? 0 : kMpPayloadBytes) && !reply;
    case RecordKind::kPut:
      return record.bytes <= (error ? 0 : kPutBytesMax);
    case RecordKind::kGet:
      return record.bytes <= kPutBytesMax && record.flags == 0;
    case RecordKind::kCredit:
    case RecordKind::kCreditAsk:
      return record.bytes == 0 && record.flags == 0;
  }
  return false;
}

// Returns whether `bytes` are exactly `count` well-formed records, so that a frame is handled whole or not at all.
bool WellFormed(absl::Span<const uint8_t> bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    Record record;
    if (bytes.size() < sizeof(record)) return false;
    std::memcpy(&record, bytes.data(), sizeof(record));
    bytes.remove_prefix(sizeof(record));
    if (!WellFormed(record)) return false;
    const uint32_t padded = PaddedBytes(PayloadBytes(record));
    if (bytes.size() < padded) return false;
    bytes.remove_prefix(padded);
  }
  return bytes.empty();
}

}  // namespace

void RecordReceiver::OnFrame(absl::Span<const uint8_t> frame) {
  ++stats_->frames_received;
  stats_->bytes_received += frame.size();
  FrameHeader header;
  if (frame.size() < sizeof(header) || frame.size() > kFrameBytesMax) {
    ++stats_->dropped_malformed;
    return;
  }
  std::memcpy(&header, frame.data(), sizeof(header));
  frame.remove_prefix(sizeof(header));
  if (!Compatible(kPacketVersion, header.version)) {
    ++stats_->dropped_version;
    return;
  }
  if (header.destination_incarnation != parts_.sender->self().value()) {
    ++stats_->dropped_incarnation;
    return;
  }
  const FrameKind kind = static_cast<FrameKind>(header.kind);
  const bool data = kind == FrameKind::kData;
  if (header.bytes != frame.size() || (!data && kind != FrameKind::kControl) ||
      (data && !WellFormed(frame, header.count))) {
    ++stats_->dropped_malformed;
    return;
  }
  const Incarnation from(header.source_incarnation);
  if (Peer* peer = parts_.sender->Find(from); peer != nullptr) peer->lost = false;
  parts_.control->OnPeerHeard(from);
  if (!data) return parts_.control->OnControl(from, header.count, frame);
  for (uint32_t i = 0; i < header.count; ++i) {
    Record record;
    std::memcpy(&record, frame.data(), sizeof(record));
    OnRecord(from, record, frame.data() + sizeof(record));
    frame.remove_prefix(sizeof(record) + PaddedBytes(PayloadBytes(record)));
  }
}

bool RecordReceiver::TakeFrame(absl::Span<const uint8_t> frame) {
  FrameHeader header;
  if (frame.size() < sizeof(header)) return false;
  std::memcpy(&header, frame.data(), sizeof(header));
  if (static_cast<FrameKind>(header.kind) != FrameKind::kData) return false;
  is_in_network_ = true;
  OnFrame(frame);
  is_in_network_ = false;
  return true;
}

void RecordReceiver::OnPeerDown(Incarnation peer, const absl::Status& why) {
  parts_.sender->OnPeerDown(peer);
  parts_.control->OnPeerDown(peer, why);
}

void RecordReceiver::ReportLost() {
  for (const auto& [peer, why] : parts_.sender->TakeLost()) parts_.control->OnPeerDown(peer, why);
}

void RecordReceiver::OnRecord(Incarnation from, const Record& record, const uint8_t* payload) {
  const LabelTable::Target* target = parts_.labels->Find(Label{record.header.label});
  if (target == nullptr) {
    ++stats_->dropped_label;
    return;
  }
  Edge* edge = target->port->edge(target->edge);
  if (edge->peer->incarnation != from) {
    ++stats_->dropped_incarnation;
    return;
  }
  if (static_cast<RecordKind>(record.kind) <= RecordKind::kPut) {
    parts_.sender->trace().Record(*edge->port, NearestCall(edge->port->calls().finished(), record.header.sequence),
                                  {.kind = TraceKind::kPacketReceived,
                                   .flags = static_cast<uint8_t>((record.flags & kRecordError) != 0 ? kTraceFailed : 0),
                                   .phase = static_cast<uint16_t>(record.counter),
                                   .subject = record.header.label,
                                   .peer = TraceTag(from),
                                   .bytes = record.bytes});
  }
  if (edge->port->has_calls() && edge->credit.Heard(record.credit, edge->port->calls().finished()))
    parts_.sender->WakeWaiting(edge);
  switch (static_cast<RecordKind>(record.kind)) {
    case RecordKind::kCredit:
      return;
    case RecordKind::kCreditAsk:
      edge->credit.Asked(NearestCall(edge->port->calls().finished(), record.header.sequence));
      if (edge->credit.ReportDue(edge->port->calls().finished())) parts_.sender->MarkDue(edge);
      return;
    case RecordKind::kGet:
      return OnRequest(edge, record);
    case RecordKind::kPacket:
    case RecordKind::kPut:
      break;
  }
  ++(static_cast<RecordKind>(record.kind) == RecordKind::kPut ? stats_->puts_received : stats_->packets_received);
  if ((record.flags & kRecordReply) != 0) return OnReply(edge, record, payload);
  if (!edge->port->has_calls()) return OnMiniPacket(edge, record, payload);
  OnCallRecord(edge, record, payload);
}

void RecordReceiver::OnRequest(Edge* edge, const Record& record) {
  if (!edge->port->options().remote_access) {
    ++stats_->dropped_refused;
    return;
  }
  if (edge->requests.size() >= kGetsPerEdgeMax) {
    ++stats_->dropped_malformed;
    return;
  }
  ++stats_->gets_received;
  edge->requests.push_back({.header = record.header,
                            .counter = record.counter,
                            .bytes = record.bytes,
                            .region = record.region,
                            .offset = record.offset,
                            .reply_label = record.reply_label,
                            .reply_region = record.reply_region});
  parts_.sender->MarkDue(edge);
}

void RecordReceiver::OnReply(Edge* edge, const Record& record, const uint8_t* payload) {
  Port* port = edge->port;
  PendingGet* get = port->FindGet(record.region);
  if (get == nullptr || get->edge != edge->index) {
    ++stats_->dropped_window;
    return;
  }
  bool failed = (record.flags & kRecordError) != 0;
  if (!failed && record.bytes != get->bytes) {
    ++stats_->dropped_malformed;
    failed = true;
  }
  if (!failed) {
    uint8_t* target = port->Resolve(get->target, get->bytes, /*write=*/true);
    failed = target == nullptr;
    if (!failed && get->bytes > 0) std::memcpy(target, payload, get->bytes);
  }
  const CounterIndex counter = get->counter;
  port->RemoveGet(get);
  parts_.sender->WakeWaiting(edge);
  if (counter != kNoCounter) parts_.runner->Count(port, counter, failed ? 0 : 1, failed ? 1 : 0);
}

// Handles a record at a port without calls: packets go to its MPQ, puts to bound regions, and each record with
// kRecordTrigger counts.
void RecordReceiver::OnMiniPacket(Edge* edge, const Record& record, const uint8_t* payload) {
  Port* port = edge->port;
  const bool trigger = (record.flags & kRecordTrigger) != 0;
  const bool failed = (record.flags & kRecordError) != 0;
  if (trigger && record.counter >= port->options().counters_per_slot) {
    ++stats_->dropped_malformed;
    return;
  }
  if (!failed) {
    if (static_cast<RecordKind>(record.kind) == RecordKind::kPut) {
      if (!Place(edge, record, 0, payload)) return;
    } else {
      MpPacket packet{};
      packet.header = record.header;
      std::memcpy(packet.payload, payload, record.bytes);
      if (!port->mpq().Push(packet, record.bytes)) {
        ++stats_->dropped_mpq_full;
        return;
      }
    }
  }
  if (trigger) parts_.runner->Count(port, record.counter, failed ? 0 : 1, failed ? 1 : 0);
}

// Writes the payload to the record's place. Returns false, and counts the record as malformed or refused, if that is
// out of bounds, or memory that peers may not write.
bool RecordReceiver::Place(Edge* edge, const Record& record, uint32_t slot, const uint8_t* payload) {
  if (record.bytes == 0) return true;
  Port* port = edge->port;
  MemoryRef place{record.region, record.offset};
  if (static_cast<RecordKind>(record.kind) == RecordKind::kPacket || record.region == kCellOfEdge) {
    place.region = port->CellRegion(edge->index, slot);
  } else if (!port->options().remote_access) {
    ++stats_->dropped_refused;
    return false;
  } else if (record.region >= port->options().regions) {
    place.region = kNoRegion;  // a peer may not write to other edges' eager buffers or to scratch
  }
  uint8_t* target = port->Resolve(place, record.bytes, /*write=*/true);
  if (target == nullptr) {
    ++stats_->dropped_malformed;
    return false;
  }
  std::memcpy(target, payload, record.bytes);
  return true;
}

bool RecordReceiver::PlaceAtTarget(Sequence* sequence, const Edge& edge, const Record& record, const uint8_t* payload) {
  Port* port = sequence->port;
  const RegionIndex cell = port->CellRegion(edge.index, sequence->slot);
  // A later run that does not fit loses nothing: the copy then takes all runs again, from the eager buffer.
  const auto take = [&](const MemoryRef& from, const MemoryRef& to, uint64_t bytes) {
    if (from.region != cell || from.offset < record.offset || bytes > record.bytes ||
        from.offset - record.offset > record.bytes - bytes) {
      return false;
    }
    uint8_t* target = port->Resolve(to, bytes, /*write=*/true);
    if (target != nullptr) std::memcpy(target, payload + (from.offset - record.offset), bytes);
    return target != nullptr;
  };
  for (uint32_t i = 0; i < sequence->count; ++i) {
    Descriptor& descriptor = sequence->descriptors()[i];
    if ((descriptor.options & kOptionLand) == 0 || descriptor.edge != edge.index ||
        descriptor.remote_counter != record.counter) {
      continue;
    }
    if (descriptor.op == OpCode::kCopy) {
      if (!take(descriptor.source, descriptor.target, descriptor.bytes)) return false;
    } else if (descriptor.op == OpCode::kCopyList) {
      for (uint32_t r = 0; r < descriptor.bytes; ++r) {
        const CopyRun& run = descriptor.runs[r];
        if (!take(run.source, run.target, run.bytes)) return false;
      }
    }
    descriptor.bytes = 0;  // nothing is left to copy
    ++stats_->puts_landed;
    return true;
  }
  return false;
}

void RecordReceiver::OnMismatch(Port* port, CounterBlock::EdgeState* state, const Mismatch& mismatch) {
  ++stats_->dropped_mismatch;
  if (state->mismatch_reported) return;
  state->mismatch_reported = true;
  if (is_in_network_) {
    mismatches_.push_back(mismatch);
  } else {
    Report(port, mismatch);
  }
}

void RecordReceiver::Report(Port* port, const Mismatch& mismatch) {
  if (!mismatch.is_wrong_arrival) {
    return port->sink()->OnMismatch(mismatch.port, mismatch.arrived.edge, mismatch.sequence, mismatch.hash);
  }
  port->sink()->OnWrongArrival(mismatch.port, mismatch.sequence, mismatch.arrived,
                               mismatch.awaited ? &*mismatch.awaited : nullptr);
}

void RecordReceiver::ReportMismatches() {
  for (const Mismatch& mismatch : std::exchange(mismatches_, {})) {
    if (Port* port = parts_.ports->Find(mismatch.port); port != nullptr) Report(port, mismatch);
  }
}

absl::Status RecordReceiver::ExpectArrivals(Port* port, CallSeq seq, absl::Span<const Arrival> arrivals) {
  RETURN_IF_ERROR(CheckInWindow(*port, seq));
  const uint32_t at = port->calls().SlotOf(seq.value());
  if (port->calls().slot(at).hash_expected) {
    return absl::FailedPreconditionError(absl::StrCat("call ", seq.value(), " has a hash already"));
  }
  for (const Arrival& arrival : arrivals) {
    if (arrival.edge < port->options().edges) continue;
    return absl::InvalidArgumentError(absl::StrCat("edge ", arrival.edge, " (limit ", port->options().edges, ")"));
  }
  port->calls().Block(at).Await(arrivals);
  return absl::OkStatus();
}

absl::Status RecordReceiver::ExpectHash(Port* port, CallSeq seq, uint16_t hash) {
  RETURN_IF_ERROR(CheckInWindow(*port, seq));
  const PortId id = port->id();
  const uint32_t at = port->calls().SlotOf(seq.value());
  CallSlot& slot = port->calls().slot(at);
  if (slot.hash_expected) {
    if (slot.hash == hash) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("call ", seq.value(), " expects hash ", slot.hash, ", not ", hash));
  }
  slot.hash_expected = true;
  slot.hash = hash;
  if (slot.block == nullptr) return absl::OkStatus();
  const CounterBlock& block = *slot.block;
  for (const Mismatch& mismatch : TakeEarly(port, at, static_cast<uint16_t>(seq.value()))) {
    // A report before may have closed the port, or finished the call.
    if (parts_.ports->Find(id) != port || port->calls().slot(at).block.get() != &block ||
        !port->calls().Has(seq.value()))
      break;
    Report(port, mismatch);
  }
  return absl::OkStatus();
}

std::vector<RecordReceiver::Mismatch> RecordReceiver::TakeEarly(Port* port, uint32_t at, uint16_t sequence) {
  std::vector<Mismatch> mismatches;
  CounterBlock& block = *port->calls().slot(at).block;
  const uint16_t hash = port->calls().slot(at).hash;
  const auto note = [&](CounterBlock::EdgeState& state, const Mismatch& mismatch) {
    ++stats_->dropped_mismatch;
    if (!std::exchange(state.mismatch_reported, true)) mismatches.push_back(mismatch);
  };
  for (const Arrival& arrival : block.early()) {
    CounterBlock::EdgeState& state = block.edge(arrival.edge);
    if (state.hash != hash) continue;
    const Arrival* awaited = nullptr;
    if (block.Awaits(arrival, &awaited)) {
      CountArrival(port, at, arrival);
    } else {
      note(state, WrongArrival(*port, sequence, arrival, awaited));
    }
  }
  for (uint32_t edge = 0; edge < port->edge_count(); ++edge) {
    CounterBlock::EdgeState& state = block.edge(edge);
    if (!state.hash_seen || state.hash == hash) continue;
    note(state, {.port = port->id(), .sequence = sequence, .hash = state.hash, .arrived = {.edge = edge}});
  }
  return mismatches;
}

RecordReceiver::Mismatch RecordReceiver::WrongArrival(const Port& port, uint16_t sequence, const Arrival& arrived,
                                                      const Arrival* awaited) {
  Mismatch mismatch{.port = port.id(), .sequence = sequence, .arrived = arrived, .is_wrong_arrival = true};
  if (awaited != nullptr) mismatch.awaited = *awaited;
  return mismatch;
}

void RecordReceiver::CountArrival(Port* port, uint32_t slot, const Arrival& arrival) {
  parts_.runner->Count(port, slot * port->options().counters_per_slot + arrival.counter, arrival.failed ? 0 : 1,
                       arrival.failed ? 1 : 0);
}

void RecordReceiver::OnCallRecord(Edge* edge, const Record& record, const uint8_t* payload) {
  Port* port = edge->port;
  uint64_t call = 0;
  if (!port->calls().Find(record.header.sequence, &call)) {
    ++stats_->dropped_window;
    return;
  }
  const bool trigger = (record.flags & kRecordTrigger) != 0;
  bool failed = (record.flags & kRecordError) != 0;
  if (trigger && record.counter >= port->options().counters_per_slot) {
    ++stats_->dropped_malformed;
    return;
  }
  const uint32_t slot = port->calls().SlotOf(call);
  CounterBlock& block = port->calls().Block(slot);
  CounterBlock::EdgeState& state = block.edge(edge->index);
  const bool expected = port->calls().slot(slot).hash_expected;
  if (expected && record.header.hash != port->calls().slot(slot).hash) {
    return OnMismatch(port, &state,
                      {.port = port->id(),
                       .sequence = record.header.sequence,
                       .hash = record.header.hash,
                       .arrived = {.edge = edge->index}});
  }
  if (!expected && state.hash_seen && state.hash != record.header.hash) {
    ++stats_->dropped_mismatch;  // the edge's packets disagree; the first one is kept
    return;
  }
  if (trigger && block.Arrived(edge->index, record.counter)) {
    ++stats_->dropped_duplicate;
    return;
  }
  // An eager buffer serves this edge only, but regions that the owner bound are written only after ExpectHash.
  const bool to_region =
      static_cast<RecordKind>(record.kind) == RecordKind::kPut && record.region != kCellOfEdge && record.bytes > 0;
  if (!expected && to_region) {
    ++stats_->dropped_window;
    failed = true;
  }
  const Arrival arrival{edge->index, record.counter, record.bytes, failed, record.offset};
  const Arrival* awaited = nullptr;
  if (expected && trigger && !block.Awaits(arrival, &awaited)) {
    return OnMismatch(port, &state, WrongArrival(*port, record.header.sequence, arrival, awaited));
  }
  Sequence* const landing = expected && trigger ? block.Landing(record.counter) : nullptr;
  const bool may_land = landing != nullptr && !failed && record.bytes > 0 && record.region == kCellOfEdge &&
                        static_cast<RecordKind>(record.kind) == RecordKind::kPut;
  const bool has_landed = may_land && PlaceAtTarget(landing, *edge, record, payload);
  if (!failed && !has_landed && !Place(edge, record, slot, payload)) return;
  edge->credit.DataArrived();
  if (!expected) {
    state.hash = record.header.hash;
    state.hash_seen = true;
  }
  if (!trigger) return;
  block.Arrive(edge->index, record.counter);
  if (!expected) return block.KeepEarly(arrival);  // ExpectHash counts it
  CountArrival(port, slot, arrival);
}

}  // namespace copse::emu
