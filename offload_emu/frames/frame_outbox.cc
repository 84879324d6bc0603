// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/frames/frame_outbox.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/version.h"

namespace copse::emu {
namespace {

// Control messages that wait as data do: those of measurements. It is no user's number.
constexpr Sender kControls{.job = UINT32_MAX};

uint32_t BytesOfRecord(uint32_t payload_bytes) {
  return static_cast<uint32_t>(sizeof(Record)) + PaddedBytes(payload_bytes);
}

}  // namespace

FrameHeader MakeFrameHeader(FrameKind kind, uint16_t count, uint32_t bytes, Incarnation from, Incarnation to) {
  FrameHeader header{};
  header.version = static_cast<uint8_t>(kPacketVersion);
  header.kind = static_cast<uint8_t>(kind);
  header.count = count;
  header.bytes = bytes;
  header.source_incarnation = from.value();
  header.destination_incarnation = to.value();
  return header;
}

bool FrameOutbox::IsLong(uint32_t payload_bytes) const {
  return sizeof(FrameHeader) + BytesOfRecord(payload_bytes) > BatchBytesMax(/*is_long=*/false);
}

// --- Appending ---

// Returns the frame that takes `bytes` more: the last one, or a new one.
QueuedFrame& FrameOutbox::FrameFor(FrameQueues::JobQueue* queue, uint32_t bytes) {
  if (queue->frames.empty() || queue->frames.back().bytes + bytes > BatchBytesMax(queue->is_long)) {
    queues_.Add(queue, QueuedFrame{.bytes = sizeof(FrameHeader)});
  }
  QueuedFrame& frame = queue->frames.back();
  pool_->Grow(&frame.buffer, frame.bytes + bytes, BufferPool::kOverwritten);
  return frame;
}

uint8_t* FrameOutbox::Append(const Sender& sender, const Record& record, uint32_t payload_bytes) {
  CHECK_LE(payload_bytes, kPutBytesMax);
  const uint32_t padded = PaddedBytes(payload_bytes);
  QueuedFrame& frame = FrameFor(&queues_.For(sender, IsLong(payload_bytes)), BytesOfRecord(payload_bytes));
  uint8_t* at = frame.buffer.data + frame.bytes;
  std::memcpy(at, &record, sizeof(record));
  at += sizeof(record);
  std::memset(at + payload_bytes, 0, padded - payload_bytes);
  frame.bytes += BytesOfRecord(payload_bytes);
  ++frame.count;
  return at;
}

void FrameOutbox::Retract(uint32_t job, uint32_t payload_bytes) {
  FrameQueues::JobQueue& queue = queues_.At(job, IsLong(payload_bytes));
  QueuedFrame& frame = queue.frames.back();
  CHECK(frame.kind == FrameKind::kData);
  frame.bytes -= BytesOfRecord(payload_bytes);
  if (--frame.count > 0) return;
  pool_->Release(&frame.buffer, BufferPool::kOverwritten);
  queues_.RemoveLast(&queue);
}

bool FrameOutbox::AppendControl(uint16_t type, absl::Span<const uint8_t> message, ControlPlace place) {
  CHECK_LE(message.size(), kControlBytesMax);
  const auto bytes = static_cast<uint32_t>(sizeof(FrameHeader) + message.size());
  QueuedFrame frame{.bytes = bytes, .count = type, .kind = FrameKind::kControl};
  const auto fill = [&] {
    frame.buffer = pool_->Acquire(bytes, BufferPool::kOverwritten);
    std::copy(message.begin(), message.end(), frame.buffer.data + sizeof(FrameHeader));
  };
  if (place == ControlPlace::kAsData) {
    if (full(kControls.job, 0) || full(kControls.job, kPutBytesMax)) return false;
    fill();
    queues_.Add(&queues_.For(kControls, bytes > kShortFrameBytesMax), frame);
    return true;
  }
  std::vector<QueuedFrame>& frames = place == ControlPlace::kAhead ? ahead_ : behind_;
  const bool waits = std::any_of(frames.begin(), frames.end(), [&](const QueuedFrame& other) {
    return other.count == type && other.bytes == bytes &&
           std::equal(message.begin(), message.end(), other.buffer.data + sizeof(FrameHeader));
  });
  if (waits) return true;
  if (ahead_.size() + behind_.size() >= kControlsMax) return false;
  fill();
  frame.number = queues_.NextNumber();
  frames.push_back(frame);
  return true;
}

// --- Sending ---

absl::Status FrameOutbox::Send(Transport* transport, QueuedFrame* frame, bool behind, SentFrames* sent) {
  const FrameHeader header = MakeFrameHeader(frame->kind, frame->count,
                                             frame->bytes - static_cast<uint32_t>(sizeof(FrameHeader)), self_, peer_);
  std::memcpy(frame->buffer.data, &header, sizeof(header));
  const auto bytes = absl::MakeConstSpan(frame->buffer.data, frame->bytes);
  RETURN_IF_ERROR(behind ? transport->SendBehind(peer_, bytes, {}) : transport->Send(peer_, bytes, {}));
  ++sent->frames;
  sent->bytes += frame->bytes;
  pool_->Release(&frame->buffer, BufferPool::kOverwritten);
  return absl::OkStatus();
}

absl::Status FrameOutbox::FlushControls(Transport* transport, bool behind, SentFrames* sent) {
  std::vector<QueuedFrame>& frames = behind ? behind_ : ahead_;
  size_t done = 0;
  absl::Status status;
  // Data that was appended before must not be overtaken.
  while (done < frames.size() && (!behind || queues_.AllAfter(frames[done].number))) {
    status = Send(transport, &frames[done], behind, sent);
    if (!status.ok()) break;
    ++done;
  }
  frames.erase(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(done));
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

absl::Status FrameOutbox::FlushAll(Transport* transport, SentFrames* sent) {
  RETURN_IF_ERROR(FlushControls(transport, /*behind=*/false, sent));
  RETURN_IF_ERROR(
      queues_.SendInTurns([&](QueuedFrame* frame) { return Send(transport, frame, /*behind=*/false, sent); }));
  return FlushControls(transport, /*behind=*/true, sent);
}

absl::Status FrameOutbox::Flush(Transport* transport, SentFrames* sent) {
  const absl::Status status = FlushAll(transport, sent);
  if (!status.ok()) Clear();
  is_congested_ = !empty();
  return status;
}

void FrameOutbox::Clear() {
  queues_.Clear(pool_);
  for (std::vector<QueuedFrame>* frames : {&ahead_, &behind_}) {
    for (QueuedFrame& frame : *frames) pool_->Release(&frame.buffer, BufferPool::kOverwritten);
    frames->clear();
  }
  is_congested_ = false;
}

}  // namespace copse::emu
