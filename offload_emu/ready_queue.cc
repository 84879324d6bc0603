// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/ready_queue.h"

#include "base/check.h"

namespace copse::emu {

ReadyJob* ReadyQueue::AddPort(uint32_t job) {
  ReadyJob& entry = jobs_[job];
  entry.job = job;
  ++entry.ports;
  return &entry;
}

void ReadyQueue::RemovePort(ReadyJob* job) {
  CHECK_GT(job->ports, 0u);
  if (--job->ports > 0) return;
  CHECK(job->sequences.empty());
  if (job->queued) {
    ReadyJob* before = nullptr;
    for (ReadyJob* at = head_; at != job; at = at->next) before = at;
    (before == nullptr ? head_ : before->next) = job->next;
    if (tail_ == job) tail_ = before;
  }
  jobs_.erase(job->job);
}

void ReadyQueue::SetWeight(uint32_t job, uint32_t weight) {
  const auto it = jobs_.find(job);
  if (it != jobs_.end()) it->second.weight = weight;
}

uint32_t ReadyQueue::WeightOf(uint32_t job) const {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? 1 : it->second.weight;
}

void ReadyQueue::Enqueue(ReadyJob* job) {
  if (job->queued) return;
  job->queued = true;
  job->next = nullptr;
  (tail_ == nullptr ? head_ : tail_->next) = job;
  tail_ = job;
}

void ReadyQueue::Push(ReadyJob* job, Sequence* sequence) {
  Sequence* place = job->sequences.back();
  while (place != nullptr && place->priority < sequence->priority) place = place->previous;
  sequence->state = SequenceState::kReady;
  job->sequences.InsertAfter(place, sequence);
  Enqueue(job);
}

void ReadyQueue::PushInterrupted(ReadyJob* job, Sequence* sequence) {
  Sequence* place = nullptr;
  for (Sequence* at = job->sequences.front(); at != nullptr && at->priority > sequence->priority; at = at->next) {
    place = at;
  }
  sequence->state = SequenceState::kReady;
  job->sequences.InsertAfter(place, sequence);
  Enqueue(job);
}

void ReadyQueue::Remove(ReadyJob* job, Sequence* sequence) { job->sequences.Remove(sequence); }

void ReadyQueue::PopJob() {
  ReadyJob* job = head_;
  head_ = job->next;
  if (head_ == nullptr) tail_ = nullptr;
  job->queued = false;
  job->used_bytes = 0;
}

ReadyJob* ReadyQueue::Turn() {
  while (head_ != nullptr && head_->sequences.empty()) PopJob();
  return head_;
}

void ReadyQueue::Charge(ReadyJob* job, uint64_t bytes) {
  job->used_bytes += bytes;
  if (job->used_bytes < TurnBytes(*job)) return;
  job->used_bytes = 0;
  if (job != head_) return;
  PopJob();
  Enqueue(job);
}

}  // namespace copse::emu
