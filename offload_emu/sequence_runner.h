// SPDX-License-Identifier: Apache-2.0
//
// Runs descriptor sequences: counters fire them, and they execute their descriptors.
#ifndef COPSE_OFFLOAD_EMU_SEQUENCE_RUNNER_H_
#define COPSE_OFFLOAD_EMU_SEQUENCE_RUNNER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/engine_stats.h"
#include "offload_emu/port.h"
#include "offload_emu/port_trace.h"
#include "offload_emu/ready_queue.h"
#include "offload_emu/record_sender.h"
#include "offload_emu/sequence.h"

namespace copse::emu {

// A SequenceRunner owns posted sequences, from Arm until they have run or were dropped (SequenceState). Everything
// passed by pointer must outlive it. Thread-compatible.
class SequenceRunner {
 public:
  SequenceRunner(ReadyQueue* ready, RecordSender* sender, EngineStats* stats)
      : ready_(ready), sender_(sender), stats_(stats) {}

  // Posts a sequence of the call in `slot`. Precondition: CheckSequence has passed.
  void Arm(Port* port, uint32_t slot, const Trigger& trigger, absl::Span<const Descriptor> descriptors);
  // Adds to a counter, which makes sequences ready whose threshold is reached.
  void Count(Port* port, CounterIndex counter, uint64_t success, uint64_t failure);
  // Runs ready sequences until the budget is used up. Returns true if anything ran.
  bool Run(uint64_t* budget_bytes);
  // Drops the sequences of a call.
  void DropSequences(Port* port, uint32_t slot);

 private:
  // kLost: a transfer's memory was lost, and nothing was sent.
  enum class StepOutcome { kDone, kFailed, kInterrupted, kWaits, kLost };

  void ArmLanding(Sequence* sequence);
  void DropLanding(Sequence* sequence);
  void DropSequence(Sequence* sequence);
  void FreeSequence(Sequence* sequence);
  void MakeReady(Sequence* sequence) { ready_->Push(sequence->port->job, sequence); }
  uint64_t RunSequence(Sequence* sequence, uint64_t allowance_bytes);
  // Returns whether any range of a bound region that the descriptor accesses lies in lost memory.
  static bool UsesLostMemory(Port* port, const Descriptor& descriptor);
  StepOutcome RunDescriptor(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes,
                            uint64_t* used_bytes);
  StepOutcome RunTransfer(Sequence* sequence, const Descriptor& descriptor, uint64_t* used_bytes);
  StepOutcome RunReduce(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes,
                        uint64_t* used_bytes);
  StepOutcome RunCopy(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes, uint64_t* used_bytes);
  StepOutcome RunCopyList(Sequence* sequence, const Descriptor& descriptor, uint64_t allowance_bytes,
                          uint64_t* used_bytes);

  const PortTrace& trace() const { return sender_->trace(); }

  ReadyQueue* const ready_;
  RecordSender* const sender_;
  EngineStats* const stats_;
  SequencePool sequences_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_SEQUENCE_RUNNER_H_
