// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/outbox.h"

#include <cstring>

#include "base/check.h"
#include "base/version.h"

namespace copse::emu {

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

// The frame that takes `bytes` more: the last one, or a new one.
Outbox::Frame& Outbox::FrameFor(uint32_t bytes) {
  if (frames_.empty() || frames_.back().kind != FrameKind::kData || frames_.back().bytes + bytes > kBatchBytesMax) {
    frames_.emplace_back();
    frames_.back().bytes = sizeof(FrameHeader);
  }
  Frame& frame = frames_.back();
  pool_->Grow(&frame.buffer, frame.bytes + bytes, BufferPool::kOverwritten);
  return frame;
}

uint8_t* Outbox::Append(const Record& record, uint32_t payload_bytes) {
  CHECK_LE(payload_bytes, kPutBytesMax);
  const uint32_t padded = PaddedBytes(payload_bytes);
  Frame& frame = FrameFor(sizeof(Record) + padded);
  uint8_t* at = frame.buffer.data + frame.bytes;
  std::memcpy(at, &record, sizeof(record));
  at += sizeof(record);
  std::memset(at + payload_bytes, 0, padded - payload_bytes);
  frame.bytes += sizeof(Record) + padded;
  ++frame.count;
  return at;
}

void Outbox::AppendControl(uint16_t type, absl::Span<const uint8_t> message) {
  CHECK_LE(message.size(), kControlBytesMax);
  Frame frame;
  frame.kind = FrameKind::kControl;
  frame.count = type;
  frame.bytes = static_cast<uint32_t>(sizeof(FrameHeader) + message.size());
  frame.buffer = pool_->Acquire(frame.bytes, BufferPool::kOverwritten);
  if (!message.empty()) std::memcpy(frame.buffer.data + sizeof(FrameHeader), message.data(), message.size());
  frames_.push_back(frame);
}

absl::Status Outbox::Flush(Transport* transport, Sent* sent) {
  size_t done = 0;
  absl::Status status;
  for (; done < frames_.size(); ++done) {
    Frame& frame = frames_[done];
    const FrameHeader header = MakeFrameHeader(frame.kind, frame.count,
                                               frame.bytes - static_cast<uint32_t>(sizeof(FrameHeader)), self_, peer_);
    std::memcpy(frame.buffer.data, &header, sizeof(header));
    status = transport->Send(peer_, absl::MakeConstSpan(frame.buffer.data, frame.bytes), {});
    if (!status.ok()) break;
    ++sent->frames;
    sent->bytes += frame.bytes;
    pool_->Release(&frame.buffer, BufferPool::kOverwritten);
  }
  frames_.erase(frames_.begin(), frames_.begin() + static_cast<ptrdiff_t>(done));
  if (absl::IsResourceExhausted(status)) return absl::OkStatus();
  if (!status.ok()) Clear();
  return status;
}

void Outbox::Clear() {
  for (Frame& frame : frames_) pool_->Release(&frame.buffer, BufferPool::kOverwritten);
  frames_.clear();
}

}  // namespace copse::emu
