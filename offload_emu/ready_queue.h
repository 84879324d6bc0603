// SPDX-License-Identifier: Apache-2.0
//
// Schedules sequences that are ready to run: round-robin by job, each for a time in proportion to its weight; by
// priority within a job.
#ifndef COPSE_OFFLOAD_EMU_READY_QUEUE_H_
#define COPSE_OFFLOAD_EMU_READY_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <map>

#include "offload_emu/sequence.h"

namespace copse::emu {

// A ReadyJob holds the ready sequences of one job, and how much of its quantum the job has used.
struct ReadyJob {
  uint32_t job = 0;
  uint32_t ports = 0;
  uint32_t weight = 1;
  uint64_t used_bytes = 0;
  SequenceList sequences;  // higher priority first, else in order of becoming ready
  ReadyJob* next = nullptr;
  bool queued = false;
};

// A ReadyQueue holds sequences in state kReady. A job's turn lasts until it has used its quanta, as many as its weight,
// or has nothing ready. Thread-compatible.
class ReadyQueue {
 public:
  explicit ReadyQueue(uint64_t quantum_bytes) : quantum_bytes_(quantum_bytes) {}

  // Adds a port to its job's entry; a job exists while it has ports.
  ReadyJob* AddPort(uint32_t job);
  // Removes a port. The job's last port must leave no ready sequences.
  void RemovePort(ReadyJob* job);
  // Sets the weight of a job that has ports; it is 1 before.
  void SetWeight(uint32_t job, uint32_t weight);
  // Returns the weight of a job; 1 if it has no ports.
  uint32_t WeightOf(uint32_t job) const;

  // Inserts the sequence behind those of equal priority, or, if it was interrupted, before them.
  void Push(ReadyJob* job, Sequence* sequence);
  void PushInterrupted(ReadyJob* job, Sequence* sequence);
  void Remove(ReadyJob* job, Sequence* sequence);

  // Returns the job that runs now, whose list is not empty, or null if the queue is empty.
  ReadyJob* Turn();
  uint64_t LeftOfTurn(const ReadyJob& job) const { return TurnBytes(job) - std::min(job.used_bytes, TurnBytes(job)); }
  // Charges the job; ends its turn when its quanta are used up.
  void Charge(ReadyJob* job, uint64_t bytes);

 private:
  uint64_t TurnBytes(const ReadyJob& job) const { return quantum_bytes_ * job.weight; }
  void Enqueue(ReadyJob* job);
  void PopJob();

  const uint64_t quantum_bytes_;
  std::map<uint32_t, ReadyJob> jobs_;
  ReadyJob* head_ = nullptr;  // list of jobs, in order; Turn removes those without ready sequences
  ReadyJob* tail_ = nullptr;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_READY_QUEUE_H_
