// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/lane.h"

#include <algorithm>

#include "base/check.h"

namespace copse::emu {
namespace {

// A connection gets no frame while its socket has not taken this much: others could not overtake it any more.
constexpr size_t kBacklogBytesMax = 16 * 1024;
// So much is received without an acknowledgment: a fraction of what the sender may have outstanding.
constexpr size_t kAcknowledgeFrames = 64;
constexpr size_t kAcknowledgeBytes = 256 * 1024;

}  // namespace

Lane::~Lane() {
  for (Frame& frame : frames_) Release(&frame);
}

bool Lane::HasRoom(size_t bytes) const {
  if (stream_ != nullptr && put_ < frames_.size()) return false;
  return frames_.size() < limits_.frames_max && frames_bytes_ + bytes <= limits_.bytes_max;
}

void Lane::Queue(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint64_t after) {
  const size_t bytes = head.size() + body.size();
  const PoolBuffer buffer = pool_->Acquire(bytes, BufferPool::kOverwritten);
  PlainSum sum;
  if (lends_ && stream_ != nullptr && !stream_->closed()) {
    sum = stream_->Copy(head, body, buffer.data);
  } else {
    std::copy(body.begin(), body.end(), std::copy(head.begin(), head.end(), buffer.data));
  }
  frames_.push_back({.after = after, .bytes = bytes, .buffer = buffer, .sum = sum});
  frames_bytes_ += bytes;
  ++queued_;
}

void Lane::Retract() {
  CHECK_LT(put_, frames_.size());
  Release(&frames_.back());
  frames_.pop_back();
  --queued_;
}

// Each message acknowledges what has come.
WireHeader Lane::NextHeader(WireKind kind) {
  WireHeader header{};
  header.kind = static_cast<uint8_t>(kind);
  header.lane = static_cast<uint8_t>(kind_);
  header.received = received_;
  frames_to_acknowledge_ = bytes_to_acknowledge_ = 0;
  return header;
}

bool Lane::IsAcknowledgmentDue() const {
  return frames_to_acknowledge_ >= kAcknowledgeFrames || bytes_to_acknowledge_ >= kAcknowledgeBytes;
}

bool Lane::has_output() const {
  return stream_ != nullptr && (put_ < frames_.size() || stream_->backlog() > 0 || IsAcknowledgmentDue());
}

void Lane::Pump() {
  if (stream_ == nullptr || stream_->closed()) return;
  do {
    PutFrames();
    stream_->Write();
  } while (put_ < frames_.size() && !stream_->closed() && stream_->backlog() < kBacklogBytesMax);
  if (!IsAcknowledgmentDue() || stream_->closed()) return;
  stream_->Put(NextHeader(WireKind::kAck), {}, encrypts_);
  stream_->Write();
}

void Lane::PutFrames() {
  while (put_ < frames_.size() && stream_->backlog() < kBacklogBytesMax) {
    const Frame& frame = frames_[put_];
    WireHeader header = NextHeader(WireKind::kFrame);
    header.number = acknowledged() + ++put_;
    header.after = frame.after;
    if (lends_) {
      stream_->PutLent(header, frame.span(), frame.sum);
    } else {
      stream_->Put(header, frame.span(), encrypts_);
    }
  }
}

bool Lane::TakeAcknowledgment(uint64_t received) {
  const size_t lent = lends_ && stream_ != nullptr ? stream_->lent() : 0;
  if (received > acknowledged() + put_ - lent) return false;
  Forget(received);
  return true;
}

void Lane::Release(Frame* frame) {
  frames_bytes_ -= frame->bytes;
  pool_->Release(&frame->buffer, BufferPool::kOverwritten);
}

// Frames up to this one have arrived.
void Lane::Forget(uint64_t received) {
  while (acknowledged() < received) {
    Release(&frames_.front());
    frames_.pop_front();
    if (put_ > 0) --put_;
  }
}

Lane::Verdict Lane::Judge(const WireHeader& header) {
  if (!TakeAcknowledgment(header.received)) return Verdict::kWrong;
  if (header.number == received_ + 1) return Verdict::kNext;
  return header.number != 0 && header.number <= received_ ? Verdict::kAgain : Verdict::kWrong;
}

void Lane::Delivered(size_t bytes) {
  ++received_;
  ++frames_to_acknowledge_;
  bytes_to_acknowledge_ += bytes;
}

bool Lane::Attach(SealedStream* stream, uint64_t received) {
  if (received < acknowledged() || received > queued_) return false;
  Forget(received);
  stream_ = stream;
  put_ = 0;
  for (Frame& frame : frames_) frame.sum = {};
  return true;
}

}  // namespace copse::emu
