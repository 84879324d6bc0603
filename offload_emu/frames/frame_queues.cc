// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/frames/frame_queues.h"

#include <algorithm>

namespace copse::emu {

size_t FrameQueues::Find(uint32_t job, bool is_long) const {
  const auto it = std::find_if(queues_.begin(), queues_.end(), [&](const JobQueue& queue) {
    return queue.sender.job == job && queue.is_long == is_long;
  });
  return static_cast<size_t>(it - queues_.begin());
}

FrameQueues::JobQueue& FrameQueues::For(const Sender& sender, bool is_long) {
  const size_t index = Find(sender.job, is_long);
  if (index == queues_.size()) queues_.push_back({.sender = sender, .is_long = is_long});
  queues_[index].sender.weight = sender.weight;
  return queues_[index];
}

bool FrameQueues::full(const JobQueue& queue) const {
  if (frame_count_ < kFramesMax || queue.frames.empty()) return false;
  const auto active = static_cast<size_t>(
      std::count_if(queues_.begin(), queues_.end(), [](const JobQueue& each) { return !each.frames.empty(); }));
  return queue.frames.size() >= std::max<size_t>(1, kFramesMax / active);
}

bool FrameQueues::full(uint32_t job, bool is_long) const {
  if (frame_count_ < kFramesMax) return false;
  const size_t index = Find(job, is_long);
  return index < queues_.size() && full(queues_[index]);
}

bool FrameQueues::has_full() const {
  return std::any_of(queues_.begin(), queues_.end(), [this](const JobQueue& queue) { return full(queue); });
}

void FrameQueues::Add(JobQueue* queue, const QueuedFrame& frame) {
  queue->frames.push_back(frame);
  queue->frames.back().number = NextNumber();
  ++frame_count_;
}

void FrameQueues::RemoveLast(JobQueue* queue) {
  queue->frames.pop_back();
  --frame_count_;
}

bool FrameQueues::AllAfter(uint64_t number) const {
  return std::all_of(queues_.begin(), queues_.end(), [&](const JobQueue& queue) {
    return queue.frames.empty() || queue.frames.front().number > number;
  });
}

void FrameQueues::DropEmptyQueues() {
  if (queues_.size() <= kQueuesKept) return;
  std::erase_if(queues_, [](const JobQueue& queue) { return queue.frames.empty(); });
  if (turn_ >= queues_.size()) turn_ = 0;
}

void FrameQueues::Clear(BufferPool* pool) {
  for (JobQueue& queue : queues_) {
    for (QueuedFrame& frame : queue.frames) pool->Release(&frame.buffer, BufferPool::kOverwritten);
  }
  queues_.clear();
  turn_ = frame_count_ = 0;
}

}  // namespace copse::emu
