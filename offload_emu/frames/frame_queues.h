// SPDX-License-Identifier: Apache-2.0
//
// Shares the way to one peer between the jobs that send frames to it.
#ifndef COPSE_OFFLOAD_EMU_FRAMES_FRAME_QUEUES_H_
#define COPSE_OFFLOAD_EMU_FRAMES_FRAME_QUEUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "offload_emu/packet.h"
#include "offload_emu/pool.h"

namespace copse::emu {

// A Sender is the job that a record belongs to, and its weight among the jobs that share the way to a peer.
struct Sender {
  uint32_t job = 0;
  uint32_t weight = 1;
};

struct QueuedFrame {
  PoolBuffer buffer;
  uint32_t bytes = 0;  // header included
  uint16_t count = 0;
  FrameKind kind = FrameKind::kData;
  uint64_t number = 0;  // frames are numbered in the order of their beginning
};

// FrameQueues have two queues for each job, of short and of long frames. The queues take turns, in which each sends
// what its weight allows, so none waits for another one's frames. Thread-compatible.
class FrameQueues {
 public:
  // Jobs wait at this number of frames. A queue with less than its part of them goes on.
  static constexpr size_t kFramesMax = 16;

  // The short or long frames of one job.
  struct JobQueue {
    Sender sender;
    bool is_long = false;
    uint64_t credit = 0;              // bytes that it may send in its turn
    std::vector<QueuedFrame> frames;  // in order of sending; records may be added to the last one
  };

  size_t frame_count() const { return frame_count_; }
  // Returns whether the job must not add a frame now.
  bool full(uint32_t job, bool is_long) const;
  // Returns whether there is a job that must not.
  bool has_full() const;
  uint64_t NextNumber() { return next_number_++; }

  // For makes the sender's queue if there is none yet; At requires that there is one.
  JobQueue& For(const Sender& sender, bool is_long);
  JobQueue& At(uint32_t job, bool is_long) { return queues_.at(Find(job, is_long)); }
  // Numbers the frame.
  void Add(JobQueue* queue, const QueuedFrame& frame);
  void RemoveLast(JobQueue* queue);
  // Returns whether all frames were begun after the one with this number.
  bool AllAfter(uint64_t number) const;

  // Calls `send(&frame)` with one frame after another, and removes those for which it returns OK. After
  // RESOURCE_EXHAUSTED it goes on with the next queue, until it has failed for all of them; other errors end it.
  template <typename Send>
  absl::Status SendInTurns(const Send& send) {
    for (size_t idle = 0; idle < queues_.size(); turn_ = (turn_ + 1) % queues_.size()) {
      JobQueue& queue = queues_[turn_];
      const absl::Status status = TakeTurn(&queue, send);
      // A frame may have been refused for its length, so the other queues are tried.
      if (!status.ok() && !absl::IsResourceExhausted(status)) return status;
      idle = status.ok() && !queue.frames.empty() ? 0 : idle + 1;
    }
    DropEmptyQueues();
    return absl::OkStatus();
  }

  // Removes all frames, and releases their memory.
  void Clear(BufferPool* pool);

 private:
  // What a queue of weight 1 may send in a turn: any frame.
  static constexpr uint64_t kTurnBytes = kFrameBytesMax;
  // Empty queues are kept up to this number of queues, for their memory.
  static constexpr size_t kQueuesKept = 4;

  template <typename Send>
  absl::Status TakeTurn(JobQueue* queue, const Send& send) {
    if (queue->frames.empty()) return absl::OkStatus();
    if (queue->credit < queue->frames.front().bytes) queue->credit += kTurnBytes * queue->sender.weight;
    size_t done = 0;
    absl::Status status;
    while (done < queue->frames.size() && queue->frames[done].bytes <= queue->credit) {
      status = send(&queue->frames[done]);
      if (!status.ok()) break;
      queue->credit -= queue->frames[done].bytes;
      ++done;
    }
    queue->frames.erase(queue->frames.begin(), queue->frames.begin() + static_cast<ptrdiff_t>(done));
    frame_count_ -= done;
    if (status.ok() && queue->frames.empty()) queue->credit = 0;
    return status;
  }
  size_t Find(uint32_t job, bool is_long) const;  // queues_.size(): there is none
  bool full(const JobQueue& queue) const;
  void DropEmptyQueues();

  std::vector<JobQueue> queues_;
  size_t turn_ = 0;  // the queue that sends next
  size_t frame_count_ = 0;
  uint64_t next_number_ = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_FRAMES_FRAME_QUEUES_H_
