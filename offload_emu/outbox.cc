// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/outbox.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/version.h"

namespace copse::emu {
namespace {

// Control messages that wait as data do: those of measurements. It is no user's number.
constexpr Sender kControls{.job = UINT32_MAX};
// What a queue of weight 1 may send in a turn: any frame.
constexpr uint64_t kTurnBytes = kFrameBytesMax;

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

// --- Queues ---

bool Outbox::IsLong(uint32_t payload_bytes) const {
  return sizeof(FrameHeader) + BytesOfRecord(payload_bytes) > BatchBytesMax(/*is_long=*/false);
}

size_t Outbox::Find(uint32_t job, bool is_long) const {
  const auto it = std::find_if(queues_.begin(), queues_.end(), [&](const JobQueue& queue) {
    return queue.sender.job == job && queue.is_long == is_long;
  });
  return static_cast<size_t>(it - queues_.begin());
}

Outbox::JobQueue& Outbox::QueueFor(const Sender& sender, bool is_long) {
  const size_t index = Find(sender.job, is_long);
  if (index == queues_.size()) queues_.push_back({.sender = sender, .is_long = is_long});
  queues_[index].sender.weight = sender.weight;
  return queues_[index];
}

bool Outbox::full(const JobQueue& queue) const {
  if (data_frames_ < kFramesMax || queue.frames.empty()) return false;
  const auto active = static_cast<size_t>(
      std::count_if(queues_.begin(), queues_.end(), [](const JobQueue& each) { return !each.frames.empty(); }));
  return queue.frames.size() >= std::max<size_t>(1, kFramesMax / active);
}

bool Outbox::full(uint32_t job, uint32_t payload_bytes) const {
  if (data_frames_ < kFramesMax) return false;
  const size_t index = Find(job, IsLong(payload_bytes));
  return index < queues_.size() && full(queues_[index]);
}

bool Outbox::has_full() const {
  return std::any_of(queues_.begin(), queues_.end(), [this](const JobQueue& queue) { return full(queue); });
}

void Outbox::Add(JobQueue* queue, const Frame& frame) {
  queue->frames.push_back(frame);
  queue->frames.back().number = next_number_++;
  ++data_frames_;
}

// --- Appending ---

// Returns the frame that takes `bytes` more: the last one, or a new one.
Outbox::Frame& Outbox::FrameFor(JobQueue* queue, uint32_t bytes) {
  if (queue->frames.empty() || queue->frames.back().bytes + bytes > BatchBytesMax(queue->is_long)) {
    Add(queue, Frame{.bytes = sizeof(FrameHeader)});
  }
  Frame& frame = queue->frames.back();
  pool_->Grow(&frame.buffer, frame.bytes + bytes, BufferPool::kOverwritten);
  return frame;
}

uint8_t* Outbox::Append(const Sender& sender, const Record& record, uint32_t payload_bytes) {
  CHECK_LE(payload_bytes, kPutBytesMax);
  const uint32_t padded = PaddedBytes(payload_bytes);
  Frame& frame = FrameFor(&QueueFor(sender, IsLong(payload_bytes)), BytesOfRecord(payload_bytes));
  uint8_t* at = frame.buffer.data + frame.bytes;
  std::memcpy(at, &record, sizeof(record));
  at += sizeof(record);
  std::memset(at + payload_bytes, 0, padded - payload_bytes);
  frame.bytes += BytesOfRecord(payload_bytes);
  ++frame.count;
  return at;
}

void Outbox::Retract(uint32_t job, uint32_t payload_bytes) {
  JobQueue& queue = queues_.at(Find(job, IsLong(payload_bytes)));
  Frame& frame = queue.frames.back();
  CHECK(frame.kind == FrameKind::kData);
  frame.bytes -= BytesOfRecord(payload_bytes);
  if (--frame.count > 0) return;
  pool_->Release(&frame.buffer, BufferPool::kOverwritten);
  queue.frames.pop_back();
  --data_frames_;
}

bool Outbox::AppendControl(uint16_t type, absl::Span<const uint8_t> message, ControlPlace place) {
  CHECK_LE(message.size(), kControlBytesMax);
  const auto bytes = static_cast<uint32_t>(sizeof(FrameHeader) + message.size());
  Frame frame{.bytes = bytes, .count = type, .kind = FrameKind::kControl};
  const auto fill = [&] {
    frame.buffer = pool_->Acquire(bytes, BufferPool::kOverwritten);
    std::copy(message.begin(), message.end(), frame.buffer.data + sizeof(FrameHeader));
  };
  if (place == ControlPlace::kAsData) {
    if (full(kControls.job, 0) || full(kControls.job, kPutBytesMax)) return false;
    fill();
    Add(&QueueFor(kControls, bytes > kShortFrameBytesMax), frame);
    return true;
  }
  std::vector<Frame>& frames = place == ControlPlace::kAhead ? ahead_ : behind_;
  const bool waits = std::any_of(frames.begin(), frames.end(), [&](const Frame& other) {
    return other.count == type && other.bytes == bytes &&
           std::equal(message.begin(), message.end(), other.buffer.data + sizeof(FrameHeader));
  });
  if (waits) return true;
  if (ahead_.size() + behind_.size() >= kControlsMax) return false;
  fill();
  frame.number = next_number_++;
  frames.push_back(frame);
  return true;
}

// --- Sending ---

absl::Status Outbox::Send(Transport* transport, Frame* frame, bool behind, SentFrames* sent) {
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

// Data that was appended before must not be overtaken.
bool Outbox::IsBehindAll(const Frame& frame) const {
  return std::all_of(queues_.begin(), queues_.end(), [&](const JobQueue& queue) {
    return queue.frames.empty() || queue.frames.front().number > frame.number;
  });
}

absl::Status Outbox::FlushControls(Transport* transport, bool behind, SentFrames* sent) {
  std::vector<Frame>& frames = behind ? behind_ : ahead_;
  size_t done = 0;
  absl::Status status;
  while (done < frames.size() && (!behind || IsBehindAll(frames[done]))) {
    status = Send(transport, &frames[done], behind, sent);
    if (!status.ok()) break;
    ++done;
  }
  frames.erase(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(done));
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

absl::StatusOr<bool> Outbox::TakeTurn(JobQueue* queue, Transport* transport, SentFrames* sent) {
  if (queue->frames.empty()) return false;
  if (queue->credit < queue->frames.front().bytes) queue->credit += kTurnBytes * queue->sender.weight;
  size_t done = 0;
  absl::Status status;
  while (done < queue->frames.size() && queue->frames[done].bytes <= queue->credit) {
    const uint32_t bytes = queue->frames[done].bytes;
    status = Send(transport, &queue->frames[done], false, sent);
    if (!status.ok()) break;
    queue->credit -= bytes;
    ++done;
  }
  queue->frames.erase(queue->frames.begin(), queue->frames.begin() + static_cast<ptrdiff_t>(done));
  data_frames_ -= done;
  RETURN_IF_ERROR(status);
  if (queue->frames.empty()) queue->credit = 0;
  return !queue->frames.empty();
}

void Outbox::DropEmptyQueues() {
  if (queues_.size() <= kQueuesKept) return;
  std::erase_if(queues_, [](const JobQueue& queue) { return queue.frames.empty(); });
  if (turn_ >= queues_.size()) turn_ = 0;
}

absl::Status Outbox::FlushAll(Transport* transport, SentFrames* sent) {
  RETURN_IF_ERROR(FlushControls(transport, /*behind=*/false, sent));
  for (size_t idle = 0; idle < queues_.size(); turn_ = (turn_ + 1) % queues_.size()) {
    const absl::StatusOr<bool> more = TakeTurn(&queues_[turn_], transport, sent);
    // A frame may have been refused for its length, so the other queues are tried.
    if (!more.ok() && !absl::IsResourceExhausted(more.status())) return more.status();
    idle = more.ok() && *more ? 0 : idle + 1;
  }
  DropEmptyQueues();
  return FlushControls(transport, /*behind=*/true, sent);
}

absl::Status Outbox::Flush(Transport* transport, SentFrames* sent) {
  const absl::Status status = FlushAll(transport, sent);
  if (!status.ok()) Clear();
  is_congested_ = !empty();
  return status;
}

void Outbox::Clear() {
  for (JobQueue& queue : queues_) {
    for (Frame& frame : queue.frames) pool_->Release(&frame.buffer, BufferPool::kOverwritten);
  }
  for (std::vector<Frame>* frames : {&ahead_, &behind_}) {
    for (Frame& frame : *frames) pool_->Release(&frame.buffer, BufferPool::kOverwritten);
    frames->clear();
  }
  queues_.clear();
  turn_ = data_frames_ = 0;
  is_congested_ = false;
}

}  // namespace copse::emu
