// SPDX-License-Identifier: Apache-2.0
//
// Batches outgoing records and control messages for one peer into frames.
#ifndef COPSE_OFFLOAD_EMU_OUTBOX_H_
#define COPSE_OFFLOAD_EMU_OUTBOX_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"
#include "offload_emu/transport.h"

namespace copse::emu {

FrameHeader MakeFrameHeader(FrameKind kind, uint16_t count, uint32_t bytes, Incarnation from, Incarnation to);

// An Outbox gathers records until Flush, and keeps frames that the transport does not take yet. `*pool` must outlive
// it. An empty outbox holds no buffers. Thread-compatible.
class Outbox {
 public:
  // Senders wait at this number of frames, without control frames that have a place of their own. Records of credit may
  // exceed it.
  static constexpr size_t kFramesMax = 16;
  // Limits the control frames with a place of their own (kAhead, kBehind). Those that must not be lost exist once per
  // kind and team at a time.
  static constexpr size_t kControlsMax = 4096;

  Outbox(Incarnation self, Incarnation peer, BufferPool* pool) : self_(self), peer_(peer), pool_(pool) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  ~Outbox() { Clear(); }

  bool empty() const { return frames_.empty(); }
  bool full() const { return frames_.size() >= kFramesMax + controls_; }
  size_t frame_count() const { return frames_.size(); }

  // Records share a frame up to this size: a frame of many segments cannot be forwarded before all of them have
  // arrived. A longer record has a frame of its own.
  static constexpr uint32_t kBatchBytesMax = 16 * 1024;

  // Appends a record; returns where its payload of `payload_bytes` <= kPutBytesMax goes, to be written before the
  // next call on the outbox.
  uint8_t* Append(const Record& record, uint32_t payload_bytes);
  // Removes the record that was appended last, with `payload_bytes` of payload.
  void Retract(uint32_t payload_bytes);
  // Adds a control frame of at most kControlBytesMax. Returns false if there is no room. With kAhead and kBehind, a
  // message equal to one that waits in that place already is not added, and the result is true.
  bool AppendControl(uint16_t type, absl::Span<const uint8_t> message, ControlPlace place);

  struct SentFrames {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };
  // Sends frames in order until the transport is exhausted, and adds them to `*sent`. Returns OK, also if frames are
  // left. After another error of the transport, which is returned, all frames are dropped.
  absl::Status Flush(Transport* transport, SentFrames* sent);
  void Clear();

 private:
  struct Frame {
    PoolBuffer buffer;
    uint32_t bytes = 0;  // header included
    uint16_t count = 0;
    FrameKind kind = FrameKind::kData;
    ControlPlace place = ControlPlace::kAsData;  // kAsData for data frames
  };
  Frame& FrameFor(uint32_t bytes);

  const Incarnation self_;
  const Incarnation peer_;
  BufferPool* const pool_;
  std::vector<Frame> frames_;  // in order of sending; records may be added to the last one
  size_t controls_ = 0;        // frames whose place is not kAsData
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_OUTBOX_H_
