// SPDX-License-Identifier: Apache-2.0
//
// What waits to be sent to one peer: records, batched into frames.
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

// An Outbox gathers records until Flush and keeps frames that the transport did not take. `*pool`
// outlives it. Frames take memory only while they exist. Thread-compatible.
class Outbox {
 public:
  // Frames kept while the transport takes none; senders wait beyond that. A few more may be made
  // for credit.
  static constexpr size_t kFramesMax = 16;
  // Control messages kept beside them. Of those that must not be lost there is one of a kind and team at a time.
  static constexpr size_t kControlsMax = 4096;

  Outbox(Incarnation self, Incarnation peer, BufferPool* pool) : self_(self), peer_(peer), pool_(pool) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  ~Outbox() { Clear(); }

  bool empty() const { return frames_.empty(); }
  bool full() const { return frames_.size() >= kFramesMax + controls_; }
  size_t frame_count() const { return frames_.size(); }

  // Records share a frame up to here: what is on its way in a frame of many segments cannot be passed on before all of
  // them are there. A longer record has a frame of its own.
  static constexpr uint32_t kBatchBytesMax = 16 * 1024;

  // Appends a record; returns where its payload of `payload_bytes` <= kPutBytesMax goes, to be
  // written before anything else is done with the outbox.
  uint8_t* Append(const Record& record, uint32_t payload_bytes);
  // Takes the record that was appended last, with so much payload, back.
  void Retract(uint32_t payload_bytes);
  // False if there is no room. A message that waits in that place already is not kept twice.
  bool AppendControl(uint16_t type, absl::Span<const uint8_t> message, ControlPlace place);

  struct Sent {
    uint64_t frames = 0;
    uint64_t bytes = 0;
  };
  // Sends what the transport takes. OK, also if frames are left because it is exhausted;
  // UNAVAILABLE: all were dropped.
  absl::Status Flush(Transport* transport, Sent* sent);
  void Clear();

 private:
  struct Frame {
    Buffer buffer;
    uint32_t bytes = 0;  // with the header
    uint16_t count = 0;
    FrameKind kind = FrameKind::kData;
    ControlPlace place = ControlPlace::kAsData;  // of data, too
  };
  Frame& FrameFor(uint32_t bytes);

  const Incarnation self_;
  const Incarnation peer_;
  BufferPool* const pool_;
  std::vector<Frame> frames_;  // as they leave; the last may still grow
  size_t controls_ = 0;        // of them with a place of their own
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_OUTBOX_H_
