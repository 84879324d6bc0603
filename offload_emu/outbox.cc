// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/outbox.h"

#include <algorithm>
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

// Returns the frame that takes `bytes` more: the last one, or a new one.
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

void Outbox::Retract(uint32_t payload_bytes) {
  Frame& frame = frames_.back();
  CHECK(frame.kind == FrameKind::kData);
  frame.bytes -= sizeof(Record) + PaddedBytes(payload_bytes);
  if (--frame.count > 0) return;
  pool_->Release(&frame.buffer, BufferPool::kOverwritten);
  frames_.pop_back();
}

bool Outbox::AppendControl(uint16_t type, absl::Span<const uint8_t> message, ControlPlace place) {
  CHECK_LE(message.size(), kControlBytesMax);
  const bool as_data = place == ControlPlace::kAsData;
  if (as_data && full()) return false;
  const auto bytes = static_cast<uint32_t>(sizeof(FrameHeader) + message.size());
  const bool waits = !as_data && std::any_of(frames_.begin(), frames_.end(), [&](const Frame& frame) {
    return frame.place == place && frame.count == type && frame.bytes == bytes &&
           std::equal(message.begin(), message.end(), frame.buffer.data + sizeof(FrameHeader));
  });
  if (waits) return true;
  if (!as_data && controls_ >= kControlsMax) return false;
  Frame frame{.bytes = bytes, .count = type, .kind = FrameKind::kControl, .place = place};
  frame.buffer = pool_->Acquire(bytes, BufferPool::kOverwritten);
  std::copy(message.begin(), message.end(), frame.buffer.data + sizeof(FrameHeader));
  controls_ += as_data ? 0 : 1;
  const auto at = place != ControlPlace::kAhead ? frames_.end()
                                                : std::find_if(frames_.begin(), frames_.end(), [](const Frame& other) {
                                                    return other.place != ControlPlace::kAhead;
                                                  });
  frames_.insert(at, frame);
  return true;
}

absl::Status Outbox::Flush(Transport* transport, SentFrames* sent) {
  size_t done = 0;
  absl::Status status;
  for (; done < frames_.size(); ++done) {
    Frame& frame = frames_[done];
    const FrameHeader header = MakeFrameHeader(frame.kind, frame.count,
                                               frame.bytes - static_cast<uint32_t>(sizeof(FrameHeader)), self_, peer_);
    std::memcpy(frame.buffer.data, &header, sizeof(header));
    const auto bytes = absl::MakeConstSpan(frame.buffer.data, frame.bytes);
    status = frame.place == ControlPlace::kBehind ? transport->SendBehind(peer_, bytes, {})
                                                  : transport->Send(peer_, bytes, {});
    if (!status.ok()) break;
    ++sent->frames;
    sent->bytes += frame.bytes;
    controls_ -= frame.place == ControlPlace::kAsData ? 0 : 1;
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
  controls_ = 0;
}

}  // namespace copse::emu
