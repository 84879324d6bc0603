// SPDX-License-Identifier: Apache-2.0
//
// Batches outgoing records and control messages for one peer into frames.
#ifndef COPSE_OFFLOAD_EMU_FRAMES_FRAME_OUTBOX_H_
#define COPSE_OFFLOAD_EMU_FRAMES_FRAME_OUTBOX_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/frames/frame_queues.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"
#include "offload_emu/transport.h"

namespace copse::emu {

FrameHeader MakeFrameHeader(FrameKind kind, uint16_t count, uint32_t bytes, Incarnation from, Incarnation to);

// A FrameOutbox gathers records until Flush, and keeps frames that the transport does not take yet, in FrameQueues.
// Long are records that have a frame of their own; while frames wait, those too whose frame would not be a short one.
// `*pool` must outlive it. An empty outbox holds no buffers. Thread-compatible.
class FrameOutbox {
 public:
  // Senders wait at this number of frames, without control frames that have a place of their own. Records of credit may
  // exceed it.
  static constexpr size_t kFramesMax = FrameQueues::kFramesMax;
  // Limits the control frames with a place of their own (kAhead, kBehind). Those that must not be lost exist once per
  // kind and team at a time.
  static constexpr size_t kControlsMax = 4096;

  FrameOutbox(Incarnation self, Incarnation peer, BufferPool* pool) : self_(self), peer_(peer), pool_(pool) {}
  FrameOutbox(const FrameOutbox&) = delete;
  FrameOutbox& operator=(const FrameOutbox&) = delete;
  ~FrameOutbox() { Clear(); }

  bool empty() const { return frame_count() == 0; }
  // Returns whether the job must not append a record with so much payload now.
  bool full(uint32_t job, uint32_t payload_bytes) const { return queues_.full(job, IsLong(payload_bytes)); }
  // Returns whether there is a job that must not append anything of one kind.
  bool has_full() const { return queues_.has_full(); }
  size_t frame_count() const { return queues_.frame_count() + ahead_.size() + behind_.size(); }

  // Records share a frame up to this size: a frame of many segments cannot be forwarded before all of them have
  // arrived. A longer record has a frame of its own.
  static constexpr uint32_t kBatchBytesMax = 16 * 1024;

  // Appends a record; returns where its payload of `payload_bytes` <= kPutBytesMax goes, to be written before the
  // next call on the outbox.
  uint8_t* Append(const Sender& sender, const Record& record, uint32_t payload_bytes);
  // Removes the record that was appended last, with `payload_bytes` of payload, by `job`.
  void Retract(uint32_t job, uint32_t payload_bytes);
  // Adds a control frame of at most kControlBytesMax. Returns false if there is no room. With kAhead and kBehind, a
  // message equal to one that waits in that place already is not added, and the result is true.
  bool AppendControl(uint16_t type, absl::Span<const uint8_t> message, ControlPlace place);

  struct SentFrames {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };
  // Sends frames until the transport takes none of any queue, and adds them to `*sent`. Returns OK, also if frames are
  // left. After another error of the transport, which is returned, all frames are dropped.
  absl::Status Flush(Transport* transport, SentFrames* sent);
  void Clear();

 private:
  bool IsLong(uint32_t payload_bytes) const;
  uint32_t BatchBytesMax(bool is_long) const {
    return is_congested_ && !is_long ? kShortFrameBytesMax : kBatchBytesMax;
  }
  QueuedFrame& FrameFor(FrameQueues::JobQueue* queue, uint32_t bytes);
  absl::Status Send(Transport* transport, QueuedFrame* frame, bool behind, SentFrames* sent);
  absl::Status FlushAll(Transport* transport, SentFrames* sent);
  absl::Status FlushControls(Transport* transport, bool behind, SentFrames* sent);

  const Incarnation self_;
  const Incarnation peer_;
  BufferPool* const pool_;
  FrameQueues queues_;
  bool is_congested_ = false;                // the last Flush has left frames
  std::vector<QueuedFrame> ahead_, behind_;  // control frames
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_FRAMES_FRAME_OUTBOX_H_
