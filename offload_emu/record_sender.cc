// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/record_sender.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace copse::emu {

Peer* RecordSender::PeerOf(Incarnation incarnation) {
  std::unique_ptr<Peer>& peer = peers_[incarnation];
  if (peer == nullptr) peer = std::make_unique<Peer>(self_, incarnation, buffers_);
  return peer.get();
}

Peer* RecordSender::Find(Incarnation incarnation) const {
  const auto it = peers_.find(incarnation);
  return it == peers_.end() ? nullptr : it->second.get();
}

void RecordSender::OnPeerDown(Incarnation incarnation) {
  Peer* peer = Find(incarnation);
  if (peer == nullptr) return;
  peer->lost = true;
  peer->outbox.Clear();
  MarkDirty(peer);
  for (Edge* edge : peer->edges) WakeWaiting(edge);
}

void RecordSender::Detach(Edge* edge) {
  Peer* peer = edge->peer;
  peer->edges.erase(std::find(peer->edges.begin(), peer->edges.end(), edge));
  if (edge->due) peer->due.erase(std::find(peer->due.begin(), peer->due.end(), edge));
  if (peer->edges.empty()) idle_.push_back(peer->incarnation);
}

void RecordSender::MarkDirty(Peer* peer) {
  if (peer->dirty) return;
  peer->dirty = true;
  dirty_.push_back(peer);
}

void RecordSender::MarkDue(Edge* edge) {
  if (edge->due || edge->remote == kNoLabel) return;
  edge->due = true;
  edge->peer->due.push_back(edge);
  MarkDirty(edge->peer);
}

bool RecordSender::IsFull(const Edge& edge, uint32_t bytes) {
  return edge.peer->outbox.full(edge.port->job->job, bytes);
}

bool RecordSender::MayWake(const Edge& edge) {
  Sequence* const first = edge.waiting.front();
  if (first == nullptr) return false;
  const Descriptor& descriptor = first->descriptors()[first->current];
  return !IsFull(edge, descriptor.op == OpCode::kGet ? 0 : descriptor.bytes);
}

bool RecordSender::MaySend(Edge* edge, const Descriptor& descriptor) {
  const bool is_get = descriptor.op == OpCode::kGet;
  if (edge->remote == kNoLabel || IsFull(*edge, is_get ? 0 : descriptor.bytes)) return false;
  if (is_get) return edge->gets_outstanding < kGetsPerEdgeMax;
  if (!edge->port->has_calls()) return true;
  const uint64_t call = NearestCall(edge->port->calls().finished(), descriptor.sequence);
  if (edge->credit.MaySend(call)) return true;
  if (edge->credit.Stall(call)) {
    ++stats_->credit_stalls;
    trace_.Record(*edge->port, call,
                  {.kind = TraceKind::kCreditStall,
                   .subject = static_cast<uint32_t>(edge->remote),
                   .peer = TraceTag(edge->peer->incarnation)});
    MarkDue(edge);
  }
  return false;
}

void RecordSender::Wait(Edge* edge, Sequence* sequence) {
  sequence->state = SequenceState::kWaiting;
  sequence->wait_edge = edge->index;
  edge->waiting.PushBack(sequence);
  stats_->sends_waiting_max = std::max(stats_->sends_waiting_max, ++stats_->sends_waiting);
}

void RecordSender::StopWaiting(Edge* edge, Sequence* sequence) {
  edge->waiting.Remove(sequence);
  --stats_->sends_waiting;
}

void RecordSender::WakeWaiting(Edge* edge) {
  while (Sequence* sequence = edge->waiting.front()) {
    StopWaiting(edge, sequence);
    ready_->Push(edge->port->job, sequence);
  }
}

Record RecordSender::RecordFor(Edge* edge, RecordKind kind, MpHeader header) {
  Record record{};
  record.header = header;
  record.header.label = static_cast<uint32_t>(edge->remote);
  record.kind = static_cast<uint8_t>(kind);
  if (kind < RecordKind::kCredit && edge->credit.HasGrown(edge->port->calls().finished()))
    ++stats_->credits_piggybacked;
  record.credit = edge->credit.Report(edge->port->calls().finished());
  return record;
}

uint8_t* RecordSender::AppendRecord(Edge* edge, const Record& record, uint32_t payload_bytes) {
  MarkDirty(edge->peer);
  const ReadyJob& job = *edge->port->job;
  return edge->peer->outbox.Append({job.job, job.weight}, record, payload_bytes);
}

bool RecordSender::SendAtOnce(Edge* edge, const Record& record, const uint8_t* payload) {
  Peer* peer = edge->peer;
  const uint32_t bytes = static_cast<uint32_t>(sizeof(Record)) + record.bytes;
  // Records in the outbox are older and go first. A record whose payload needs padding also goes there.
  if (bytes + sizeof(FrameHeader) <= FrameOutbox::kBatchBytesMax || record.bytes != PaddedBytes(record.bytes) ||
      !peer->outbox.empty()) {
    return false;
  }
  struct {
    FrameHeader frame;
    Record record;
  } head{MakeFrameHeader(FrameKind::kData, 1, bytes, self_, peer->incarnation), record};
  static_assert(sizeof(head) == sizeof(FrameHeader) + sizeof(Record));
  const absl::Status status =
      transport_->Send(peer->incarnation, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&head), sizeof(head)),
                       absl::MakeConstSpan(payload, record.bytes));
  // The caller puts the record into the outbox; Flush tries again, and reports a lost peer.
  if (!status.ok()) return false;
  peer->lost = false;
  ++stats_->frames_sent;
  stats_->bytes_sent += sizeof(head) + record.bytes;
  if (trace_.ring() != nullptr) {
    trace_.ring()->Record({.kind = TraceKind::kFramesSent,
                           .subject = 1,
                           .peer = TraceTag(peer->incarnation),
                           .bytes = static_cast<uint32_t>(sizeof(head) + record.bytes)});
  }
  return true;
}

void RecordSender::Answer(Edge* edge, const GetRequest& request) {
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
  ++stats_->puts_sent;
  if (source == nullptr) {
    record.flags |= kRecordError;
    AppendRecord(edge, record, 0);
    return;
  }
  record.bytes = request.bytes;
  uint8_t* payload = AppendRecord(edge, record, request.bytes);
  std::copy(source, source + request.bytes, payload);
}

void RecordSender::SendDue(Edge* edge) {
  Port* port = edge->port;
  size_t answered = 0;
  while (answered < edge->requests.size() && !IsFull(*edge, edge->requests[answered].bytes)) {
    Answer(edge, edge->requests[answered++]);
  }
  edge->requests.erase(edge->requests.begin(), edge->requests.begin() + static_cast<ptrdiff_t>(answered));
  if (edge->credit.ask_due()) {
    const uint16_t call = edge->credit.TakeAsk();
    AppendRecord(edge, RecordFor(edge, RecordKind::kCreditAsk, {.label = 0, .sequence = call, .hash = 0}), 0);
    ++stats_->credit_asks;
  }
  if (edge->credit.ReportDue(port->calls().finished())) {
    AppendRecord(edge, RecordFor(edge, RecordKind::kCredit, {}), 0);
    ++stats_->credits_sent;
  }
}

void RecordSender::SendDue(Peer* peer) {
  size_t kept = 0;
  for (Edge* edge : peer->due) {
    SendDue(edge);
    edge->due = !edge->requests.empty();
    if (edge->due) peer->due[kept++] = edge;
  }
  peer->due.resize(kept);
}

void RecordSender::Flush() {
  flushing_.swap(dirty_);
  for (Peer* peer : flushing_) {
    peer->dirty = false;
    SendDue(peer);
    const bool was_full = peer->outbox.has_full();
    FrameOutbox::SentFrames sent;
    const absl::Status status = peer->outbox.Flush(transport_, &sent);
    if (trace_.ring() != nullptr && sent.frames > 0) {
      trace_.ring()->Stamp();
      trace_.ring()->Record({.kind = TraceKind::kFramesSent,
                             .subject = static_cast<uint32_t>(sent.frames),
                             .peer = TraceTag(peer->incarnation),
                             .bytes = static_cast<uint32_t>(sent.bytes)});
    }
    stats_->frames_sent += sent.frames;
    stats_->bytes_sent += sent.bytes;
    if (sent.frames > 0) peer->lost = false;
    if (!status.ok() && !peer->lost) {
      peer->lost = true;
      lost_.emplace_back(peer->incarnation, status);
    }
    if (!peer->outbox.empty() || !peer->due.empty()) {
      MarkDirty(peer);
    } else if (peer->edges.empty()) {
      idle_.push_back(peer->incarnation);
    }
    if (was_full && (sent.frames > 0 || !status.ok())) {
      for (Edge* edge : peer->edges) {
        if (MayWake(*edge)) WakeWaiting(edge);
      }
    }
  }
  flushing_.clear();
}

absl::Status RecordSender::SendControl(Incarnation peer, uint16_t type, absl::Span<const uint8_t> message,
                                       ControlPlace place) {
  if (message.size() > kControlBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("control message of ", message.size(), " bytes (limit ", kControlBytesMax, ")"));
  }
  const Peer* known = Find(peer);
  if (known == nullptr || known->outbox.empty()) {
    const FrameHeader header =
        MakeFrameHeader(FrameKind::kControl, type, static_cast<uint32_t>(message.size()), self_, peer);
    const auto head = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof(header));
    const absl::Status status = place == ControlPlace::kBehind ? transport_->SendBehind(peer, head, message)
                                                               : transport_->Send(peer, head, message);
    if (status.ok()) {
      ++stats_->frames_sent;
      stats_->bytes_sent += sizeof(header) + message.size();
    }
    if (!absl::IsResourceExhausted(status)) return status;
  }
  Peer* to = PeerOf(peer);
  if (!to->outbox.AppendControl(type, message, place)) {
    const size_t limit = place == ControlPlace::kAsData ? FrameOutbox::kFramesMax : FrameOutbox::kControlsMax;
    return absl::ResourceExhaustedError(
        absl::StrCat("outbox of incarnation ", peer.value(), " is full (limit ", limit, " frames)"));
  }
  MarkDirty(to);
  return absl::OkStatus();
}

void RecordSender::Reap() {
  for (const Incarnation incarnation : idle_) {
    const auto it = peers_.find(incarnation);
    if (it == peers_.end()) continue;
    const Peer& peer = *it->second;
    if (peer.edges.empty() && !peer.dirty && peer.outbox.empty()) peers_.erase(it);
  }
  idle_.clear();
}

uint64_t RecordSender::frames_waiting() const {
  uint64_t frames = 0;
  for (const Peer* peer : dirty_) frames += peer->outbox.frame_count();
  return frames;
}

void RecordSender::CheckInvariants() const {
  for (const Peer* peer : dirty_) CHECK(peer->dirty);
  for (const auto& [incarnation, peer] : peers_) {
    CHECK(peer->incarnation == incarnation);
    for (const Edge* edge : peer->due) CHECK(edge->due && edge->peer == peer.get());
  }
}

}  // namespace copse::emu
