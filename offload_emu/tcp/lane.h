// SPDX-License-Identifier: Apache-2.0
//
// Keeps the frames of one lane to and from a peer over connections that come and go.
#ifndef COPSE_OFFLOAD_EMU_TCP_LANE_H_
#define COPSE_OFFLOAD_EMU_TCP_LANE_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/types/span.h"
#include "offload_emu/pool.h"
#include "offload_emu/tcp/frame_cipher.h"
#include "offload_emu/tcp/sealed_stream.h"
#include "offload_emu/tcp/wire_format.h"

namespace copse::emu {

struct LaneLimits {
  // Limits of the frames that the peer has not acknowledged.
  size_t bytes_max = 4 << 20;
  size_t frames_max = 512;
};

// A Lane numbers the frames that it sends, keeps them until the peer has acknowledged them, and sends those again that
// a lost connection may have lost. So each frame arrives once, in the order of the lane. Thread-compatible.
class Lane {
 public:
  // `*pool`, whose buffers hold the frames, must outlive the lane.
  Lane(LaneKind kind, LaneLimits limits, bool encrypts, BufferPool* pool)
      : kind_(kind), limits_(limits), encrypts_(encrypts), lends_(kind == LaneKind::kBulk && !encrypts), pool_(pool) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  // --- Sending ---
  // Returns whether a frame of `bytes` may be queued. While there is a connection, one frame may wait for it: those
  // behind it wait with their jobs, which share the way (FrameQueues), and not in the order in which they came.
  bool HasRoom(size_t bytes) const;
  // Queues a copy of a frame, head and body. Requires HasRoom.
  void Queue(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint64_t after);
  // Takes the frame back that was queued last, and that Pump has not seen.
  void Retract();
  // Returns the number of the last frame that was queued; 0: none.
  uint64_t queued() const { return queued_; }
  bool has_unacknowledged() const { return !frames_.empty(); }
  // Returns whether Pump has anything to do.
  bool has_output() const;
  // Gives frames, and an acknowledgment if one is due, to the connection as far as it takes them.
  void Pump();

  // --- Receiving ---
  enum class Verdict : uint8_t {
    kNext,   // the next frame of the lane
    kAgain,  // it has come before, over a connection that was lost
    kWrong,  // a frame is missing before it, or it acknowledges frames that were not sent
  };
  // Judges a frame that has come, and takes its acknowledgment.
  Verdict Judge(const WireHeader& header);
  // Takes the acknowledgment of a message without a frame. Returns false if it is wrong: of frames that the connection
  // has not taken yet.
  bool TakeAcknowledgment(uint64_t received);
  // The frame that was judged to be the next is delivered.
  void Delivered(size_t bytes);
  // Returns the number of the last frame that was delivered.
  uint64_t received() const { return received_; }

  // --- Connections ---
  // Uses this open connection from now on, over which both sides have said hello; the peer's last received frame is
  // `received`. Returns false if that is wrong.
  bool Attach(SealedStream* stream, uint64_t received);
  // The connection is lost.
  void Detach() { stream_ = nullptr; }
  SealedStream* stream() const { return stream_; }

 private:
  struct Frame {
    uint64_t after;
    size_t bytes;
    PoolBuffer buffer;
    PlainSum sum;  // over stream_

    absl::Span<const uint8_t> span() const { return {buffer.data, bytes}; }
  };

  WireHeader NextHeader(WireKind kind);
  bool IsAcknowledgmentDue() const;
  void PutFrames();
  void Release(Frame* frame);
  void Forget(uint64_t received);
  uint64_t acknowledged() const { return queued_ - frames_.size(); }

  const LaneKind kind_;
  const LaneLimits limits_;
  const bool encrypts_;
  const bool lends_;  // the connection writes from frames_
  BufferPool* const pool_;
  SealedStream* stream_ = nullptr;

  std::deque<Frame> frames_;  // not acknowledged; the last has the number queued_
  uint64_t queued_ = 0;
  size_t frames_bytes_ = 0;
  size_t put_ = 0;  // the first frames of frames_ that were given to the connection
  uint64_t received_ = 0;
  size_t frames_to_acknowledge_ = 0;
  size_t bytes_to_acknowledge_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_LANE_H_
