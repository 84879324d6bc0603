// SPDX-License-Identifier: Apache-2.0
//
// Sends records and control messages, and keeps the peers with their outboxes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "offload_emu/engine.h"
#include "offload_emu/peer.h"

namespace copse::emu {

Peer* Engine::PeerOf(Incarnation incarnation) {
  std::unique_ptr<Peer>& peer = peers_[incarnation];
  if (peer == nullptr) peer = std::make_unique<Peer>(options_.incarnation, incarnation, &buffers_);
  return peer.get();
}

void Engine::MarkDirty(Peer* peer) {
  if (peer->dirty) return;
  peer->dirty = true;
  dirty_.push_back(peer);
}

void Engine::MarkDue(Edge* edge) {
  if (edge->due || edge->remote == kNoLabel) return;
  edge->due = true;
  edge->peer->due.push_back(edge);
  MarkDirty(edge->peer);
}

// Returns whether the record of `descriptor` may be sent now. Asks the peer for credit if that is missing.
bool Engine::MaySend(Edge* edge, const Descriptor& descriptor) {
  if (edge->remote == kNoLabel || edge->peer->outbox.full()) return false;
  if (descriptor.op == OpCode::kGet) return edge->gets_outstanding < kGetsPerEdgeMax;
  if (!edge->port->has_calls()) return true;
  const uint64_t call = NearestCall(edge->port->finished(), descriptor.sequence);
  if (edge->credit.MaySend(call)) return true;
  if (edge->credit.Stall(call)) {
    ++stats_.credit_stalls;
    Trace(*edge->port, call,
          {.kind = TraceKind::kCreditStall,
           .subject = static_cast<uint32_t>(edge->remote),
           .peer = TraceTag(edge->peer->incarnation)});
    MarkDue(edge);
  }
  return false;
}

// Makes the sequences that wait for the edge ready again, in order.
void Engine::WakeWaiting(Edge* edge) {
  while (Sequence* sequence = edge->waiting.front()) {
    edge->waiting.Remove(sequence);
    --stats_.sends_waiting;
    ready_.Push(edge->port->job, sequence);
  }
}

Record Engine::RecordFor(Edge* edge, RecordKind kind, MpHeader header) {
  Record record{};
  record.header = header;
  record.header.label = static_cast<uint32_t>(edge->remote);
  record.kind = static_cast<uint8_t>(kind);
  if (kind < RecordKind::kCredit && edge->credit.HasGrown(edge->port->finished())) ++stats_.credits_piggybacked;
  record.credit = edge->credit.Report(edge->port->finished());
  return record;
}

uint8_t* Engine::AppendRecord(Edge* edge, const Record& record, uint32_t payload_bytes) {
  MarkDirty(edge->peer);
  return edge->peer->outbox.Append(record, payload_bytes);
}

bool Engine::SendAtOnce(Edge* edge, const Record& record, const uint8_t* payload) {
  Peer* peer = edge->peer;
  const uint32_t bytes = static_cast<uint32_t>(sizeof(Record)) + record.bytes;
  // Records in the outbox are older and go first. A record whose payload needs padding also goes there.
  if (bytes + sizeof(FrameHeader) <= Outbox::kBatchBytesMax || record.bytes != PaddedBytes(record.bytes) ||
      !peer->outbox.empty()) {
    return false;
  }
  struct {
    FrameHeader frame;
    Record record;
  } head{MakeFrameHeader(FrameKind::kData, 1, bytes, options_.incarnation, peer->incarnation), record};
  static_assert(sizeof(head) == sizeof(FrameHeader) + sizeof(Record));
  const absl::Status status =
      transport_->Send(peer->incarnation, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&head), sizeof(head)),
                       absl::MakeConstSpan(payload, record.bytes));
  // The caller puts the record into the outbox; Flush tries again, and reports a lost peer.
  if (!status.ok()) return false;
  peer->lost = false;
  ++stats_.frames_sent;
  stats_.bytes_sent += sizeof(head) + record.bytes;
  if (trace_ != nullptr) {
    trace_->Record({.kind = TraceKind::kFramesSent,
                    .subject = 1,
                    .peer = TraceTag(peer->incarnation),
                    .bytes = static_cast<uint32_t>(sizeof(head) + record.bytes)});
  }
  return true;
}

void Engine::Answer(Edge* edge, const GetRequest& request) {
  Record record = RecordFor(edge, RecordKind::kPut, request.header);
  record.header.label = request.reply_label;
  record.flags = kRecordReply;
  record.counter = request.counter;
  record.region = request.reply_region;
  const uint8_t* source = nullptr;
  // A get may read only the regions that the port's owner bound: eager buffers and scratch are private.
  if (request.region < edge->port->options().regions) {
    source = edge->port->Resolve({request.region, request.offset}, request.bytes, /*write=*/false);
  }
  ++stats_.puts_sent;
  if (source == nullptr) {
    record.flags |= kRecordError;
    AppendRecord(edge, record, 0);
    return;
  }
  record.bytes = request.bytes;
  uint8_t* payload = AppendRecord(edge, record, request.bytes);
  std::copy(source, source + request.bytes, payload);
}

void Engine::SendDue(Edge* edge) {
  Port* port = edge->port;
  size_t answered = 0;
  while (answered < edge->requests.size() && !edge->peer->outbox.full()) Answer(edge, edge->requests[answered++]);
  edge->requests.erase(edge->requests.begin(), edge->requests.begin() + static_cast<ptrdiff_t>(answered));
  if (edge->credit.ask_due()) {
    const uint16_t call = edge->credit.TakeAsk();
    AppendRecord(edge, RecordFor(edge, RecordKind::kCreditAsk, {.label = 0, .sequence = call, .hash = 0}), 0);
    ++stats_.credit_asks;
  }
  if (edge->credit.ReportDue(port->finished())) {
    AppendRecord(edge, RecordFor(edge, RecordKind::kCredit, {}), 0);
    ++stats_.credits_sent;
  }
}

void Engine::SendDue(Peer* peer) {
  size_t kept = 0;
  for (Edge* edge : peer->due) {
    SendDue(edge);
    edge->due = !edge->requests.empty();
    if (edge->due) peer->due[kept++] = edge;
  }
  peer->due.resize(kept);
}

void Engine::Flush() {
  flushing_.swap(dirty_);
  for (Peer* peer : flushing_) {
    peer->dirty = false;
    SendDue(peer);
    const bool was_full = peer->outbox.full();
    Outbox::SentFrames sent;
    const absl::Status status = peer->outbox.Flush(transport_, &sent);
    if (trace_ != nullptr && sent.frames > 0) {
      trace_->Stamp();
      trace_->Record({.kind = TraceKind::kFramesSent,
                      .subject = static_cast<uint32_t>(sent.frames),
                      .peer = TraceTag(peer->incarnation),
                      .bytes = static_cast<uint32_t>(sent.bytes)});
    }
    stats_.frames_sent += sent.frames;
    stats_.bytes_sent += sent.bytes;
    if (sent.frames > 0) peer->lost = false;
    if (!status.ok() && !peer->lost) {
      peer->lost = true;
      lost_.emplace_back(peer->incarnation, status);
    }
    if (!peer->outbox.empty() || !peer->due.empty()) {
      MarkDirty(peer);
    } else if (peer->edges.empty()) {
      idle_peers_.push_back(peer->incarnation);
    }
    if (was_full && !peer->outbox.full()) {
      for (Edge* edge : peer->edges) WakeWaiting(edge);
    }
  }
  flushing_.clear();
}

void Engine::ReportLost() {
  if (lost_.empty()) return;
  std::vector<std::pair<Incarnation, absl::Status>> lost;
  lost.swap(lost_);
  for (const auto& [peer, why] : lost) control_->OnPeerDown(peer, why);
}

absl::Status Engine::SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message,
                                 ControlPlace place) {
  if (message.size() > kControlBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("control message of ", message.size(), " bytes (limit ", kControlBytesMax, ")"));
  }
  const auto known = peers_.find(peer);
  const bool queued = known != peers_.end() && !known->second->outbox.empty();
  if (!queued) {
    const FrameHeader header =
        MakeFrameHeader(FrameKind::kControl, type, static_cast<uint32_t>(message.size()), options_.incarnation, peer);
    const absl::Status status =
        transport_->Send(peer, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof(header)), message);
    if (status.ok()) {
      ++stats_.frames_sent;
      stats_.bytes_sent += sizeof(header) + message.size();
    }
    if (!absl::IsResourceExhausted(status)) return status;
  }
  Peer* to = PeerOf(peer);
  if (!to->outbox.AppendControl(type, message, place)) {
    const size_t limit = place == ControlPlace::kAsData ? Outbox::kFramesMax : Outbox::kControlsMax;
    return absl::ResourceExhaustedError(
        absl::StrCat("outbox of incarnation ", peer.value(), " is full (limit ", limit, " frames)"));
  }
  MarkDirty(to);
  return absl::OkStatus();
}

}  // namespace copse::emu
