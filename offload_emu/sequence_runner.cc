// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/sequence_runner.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/process/lost_memory.h"
#include "offload_emu/alu/alu.h"
#include "offload_emu/descriptor_check.h"

namespace copse::emu {
namespace {

// It is added to the bytes of each descriptor, so that a job that only has events and empty packets uses up its
// quantum, too.
constexpr uint64_t kDescriptorCostBytes = 64;

// Copies and reductions of at least this many bytes take long enough, some 100 ns, for the trace to read the clock
// again.
constexpr uint32_t kStampBytes = 1024;

// CopyEnds is the memory of a copy; both are null if either range is out of bounds.
struct CopyEnds {
  const uint8_t* source = nullptr;
  uint8_t* target = nullptr;
};
CopyEnds ResolveCopy(Port* port, const MemoryRef& source, const MemoryRef& target, uint64_t bytes) {
  CopyEnds ends;
  // The first round makes the eager buffers large enough, so that the second one's pointers stay valid.
  for (int round = 0; round < 2; ++round) {
    ends = {port->Resolve(source, bytes, /*write=*/false), port->Resolve(target, bytes, /*write=*/true)};
    if (ends.source == nullptr || ends.target == nullptr) return {};
  }
  return ends;
}

}  // namespace

void SequenceRunner::Arm(Port* port, uint32_t slot, const Trigger& trigger, absl::Span<const Descriptor> descriptors) {
  Sequence* sequence = sequences_.New(descriptors);
  sequence->port = port;
  sequence->slot = slot;
  sequence->counter = trigger.counter;
  sequence->threshold = trigger.threshold;
  sequence->priority = trigger.priority;
  sequence->events = static_cast<uint8_t>(EventCount(descriptors));
  port->calls().slot(slot).sequences.PushBack(sequence);
  ++port->sequences_used;
  port->events_armed += sequence->events;
  ++stats_->sequences_posted;
  if (trigger.counter == kNoCounter) {
    MakeReady(sequence);
    return;
  }
  SequenceList& armed = port->calls().counter(trigger.counter).armed;
  Sequence* place = armed.back();
  while (place != nullptr && place->threshold > trigger.threshold) place = place->previous;
  armed.InsertAfter(place, sequence);
  if (port->has_calls()) ArmLanding(sequence);
  Count(port, trigger.counter, 0, 0);  // the threshold may have been reached already
}

void SequenceRunner::ArmLanding(Sequence* sequence) {
  const auto descriptors = absl::MakeConstSpan(sequence->descriptors(), sequence->count);
  const auto first = std::find_if(descriptors.begin(), descriptors.end(),
                                  [](const Descriptor& descriptor) { return (descriptor.options & kOptionLand) != 0; });
  if (first == descriptors.end()) return;
  Port* port = sequence->port;
  sequence->lands = port->calls().Block(sequence->slot).AddLanding(first->remote_counter, sequence);
}

// Excludes the sequence from direct placement.
void SequenceRunner::DropLanding(Sequence* sequence) {
  if (!sequence->lands) return;
  sequence->port->calls().Block(sequence->slot).RemoveLanding(sequence);
  sequence->lands = false;
}

void SequenceRunner::Count(Port* port, CounterIndex index, uint64_t success, uint64_t failure) {
  Counter& counter = port->calls().counter(index);
  counter.success += success;
  counter.failure += failure;
  while (Sequence* sequence = counter.armed.front()) {
    if (counter.success + counter.failure < sequence->threshold) break;
    counter.armed.Remove(sequence);
    DropLanding(sequence);
    sequence->failed = counter.failure > 0;
    if (trace().ring() != nullptr) {
      const uint32_t slot = index / port->options().counters_per_slot;
      trace().Record(*port, port->calls().CallOf(slot),
                     {.kind = TraceKind::kTriggerFired,
                      .flags = static_cast<uint8_t>(sequence->failed ? kTraceFailed : 0),
                      .phase = static_cast<uint16_t>(index % port->options().counters_per_slot),
                      .subject = port->id().index,
                      .peer = static_cast<uint32_t>(counter.success + counter.failure)});
    }
    MakeReady(sequence);
  }
}

bool SequenceRunner::Run(uint64_t* budget_bytes) {
  bool ran = false;
  while (*budget_bytes > 0) {
    ReadyJob* job = ready_->Turn();
    if (job == nullptr) break;
    Sequence* sequence = job->sequences.front();
    ready_->Remove(job, sequence);
    sequence->state = SequenceState::kRunning;
    const uint64_t used = RunSequence(sequence, std::min(*budget_bytes, ready_->LeftOfTurn(*job)));
    ready_->Charge(job, used);
    *budget_bytes -= std::min(*budget_bytes, used);
    ran = true;
  }
  return ran;
}

// Runs descriptors in order until the sequence ends, has to wait, or has used its allowance. Returns the bytes used.
uint64_t SequenceRunner::RunSequence(Sequence* sequence, uint64_t allowance_bytes) {
  Port* port = sequence->port;
  uint64_t used = 0;
  while (sequence->current < sequence->count) {
    if (used >= allowance_bytes) {
      ready_->PushInterrupted(port->job, sequence);
      return used;
    }
    const Descriptor& descriptor = sequence->descriptors()[sequence->current];
    const CounterIndex counter = descriptor.counter;
    const StepOutcome outcome = RunDescriptor(sequence, descriptor, allowance_bytes - used, &used);
    if (sequence->dropped) break;  // the sink has ended the call in OnEvent
    if (outcome == StepOutcome::kWaits) return used;
    // The check follows the access, as the fault may have come with it. A transfer checks before anything is sent.
    if (outcome == StepOutcome::kLost || (AnyMemoryLost() && UsesLostMemory(port, descriptor))) {
      sequence->state = SequenceState::kParked;
      return used;
    }
    if (outcome == StepOutcome::kInterrupted) continue;
    used += kDescriptorCostBytes;
    ++stats_->descriptors_run;
    if (outcome == StepOutcome::kFailed) sequence->failed = true;
    // A get counts when its reply has arrived.
    const bool asked = sequence->descriptors()[sequence->current].op == OpCode::kGet && outcome == StepOutcome::kDone;
    ++sequence->current;
    sequence->done_bytes = 0;
    if (counter != kNoCounter && !asked) Count(port, counter, sequence->failed ? 0 : 1, sequence->failed ? 1 : 0);
  }
  ++stats_->sequences_run;
  FreeSequence(sequence);
  return used;
}

// Frees a running sequence. A dropped one is on no list and in none of its port's tables any more.
void SequenceRunner::FreeSequence(Sequence* sequence) {
  if (!sequence->dropped) {
    Port* port = sequence->port;
    port->calls().slot(sequence->slot).sequences.Remove(sequence);
    --port->sequences_used;
    port->events_armed -= sequence->events;
  }
  sequences_.Free(sequence);
}

bool SequenceRunner::UsesLostMemory(Port* port, const Descriptor& descriptor) {
  const auto is_lost = [&](const MemoryRef& ref, uint64_t bytes) {
    if (ref.region >= port->options().regions || bytes == 0)
      return false;  // eager buffers and scratch are the engine's own memory
    const uint8_t* const at = port->Resolve(ref, bytes, /*write=*/false);
    return at != nullptr && IsMemoryLost(at, bytes);
  };
  switch (descriptor.op) {
    case OpCode::kSend:
    case OpCode::kPut:
      return is_lost(descriptor.source, descriptor.bytes);
    case OpCode::kGet:
      return is_lost(descriptor.target, descriptor.bytes);
    case OpCode::kReduce:
      return is_lost(descriptor.target, descriptor.bytes) ||
             std::any_of(descriptor.operands.begin(), descriptor.operands.begin() + descriptor.operand_count,
                         [&](const MemoryRef& operand) { return is_lost(operand, descriptor.bytes); });
    case OpCode::kCopy:
      return is_lost(descriptor.source, descriptor.bytes) || is_lost(descriptor.target, descriptor.bytes);
    case OpCode::kCopyList:
      return std::any_of(descriptor.runs, descriptor.runs + descriptor.bytes, [&](const CopyRun& run) {
        return is_lost(run.source, run.bytes) || is_lost(run.target, run.bytes);
      });
    case OpCode::kCount:
    case OpCode::kEvent:
      return false;
  }
  return false;
}

SequenceRunner::StepOutcome SequenceRunner::RunDescriptor(Sequence* sequence, const Descriptor& descriptor,
                                                          uint64_t allowance_bytes, uint64_t* used_bytes) {
  switch (descriptor.op) {
    case OpCode::kSend:
    case OpCode::kPut:
    case OpCode::kGet:
      return RunTransfer(sequence, descriptor, used_bytes);
    case OpCode::kReduce:
      return sequence->failed ? StepOutcome::kFailed : RunReduce(sequence, descriptor, allowance_bytes, used_bytes);
    case OpCode::kCopy:
      return sequence->failed ? StepOutcome::kFailed : RunCopy(sequence, descriptor, allowance_bytes, used_bytes);
    case OpCode::kCopyList:
      return sequence->failed ? StepOutcome::kFailed : RunCopyList(sequence, descriptor, allowance_bytes, used_bytes);
    case OpCode::kCount:
      return StepOutcome::kDone;
    case OpCode::kEvent:
      if (sequence->failed || (descriptor.options & kOptionEventOnError) == 0) {
        ++stats_->events;
        sequence->port->sink()->OnEvent(sequence->port->id(), descriptor.value, sequence->failed);
      }
      return StepOutcome::kDone;
  }
  return StepOutcome::kFailed;
}

// Runs a send, put or get. One that cannot be sent yet makes the whole sequence wait, so that its later descriptors
// never overtake it.
SequenceRunner::StepOutcome SequenceRunner::RunTransfer(Sequence* sequence, const Descriptor& descriptor,
                                                        uint64_t* used_bytes) {
  Port* port = sequence->port;
  Edge* edge = port->edge(descriptor.edge);
  if (edge == nullptr) return StepOutcome::kFailed;
  const bool is_get = descriptor.op == OpCode::kGet;
  if (is_get && sequence->failed) return StepOutcome::kFailed;
  if (!sender_->MaySend(edge, descriptor)) {
    sender_->Wait(edge, sequence);
    return StepOutcome::kWaits;
  }
  if (is_get && port->Resolve(descriptor.target, descriptor.bytes, /*write=*/true) == nullptr) {
    return StepOutcome::kFailed;
  }
  const RecordKind kind = is_get                          ? RecordKind::kGet
                          : descriptor.op == OpCode::kPut ? RecordKind::kPut
                                                          : RecordKind::kPacket;
  const uint8_t* source = nullptr;
  if (!is_get && descriptor.bytes > 0 && !sequence->failed) {
    source = port->Resolve(descriptor.source, descriptor.bytes, /*write=*/false);
    if (source == nullptr) sequence->failed = true;
  }
  Record record =
      sender_->RecordFor(edge, kind, {.label = 0, .sequence = descriptor.sequence, .hash = descriptor.hash});
  record.counter = descriptor.remote_counter;
  record.region = descriptor.remote_region;
  record.offset = descriptor.remote_offset;
  if ((descriptor.options & kOptionTrigger) != 0) record.flags |= kRecordTrigger;
  if (is_get) {
    record.bytes = descriptor.bytes;
    record.reply_label = static_cast<uint32_t>(edge->local);
    record.reply_region = port->AddGet({.edge = edge->index,
                                        .slot = sequence->slot,
                                        .bytes = descriptor.bytes,
                                        .target = descriptor.target,
                                        .counter = descriptor.counter});
    sender_->AppendRecord(edge, record, 0);
    ++stats_->gets_sent;
    return StepOutcome::kDone;
  }
  if (sequence->failed) {
    record.flags |= kRecordError;
  } else {
    record.bytes = descriptor.bytes;
  }
  if (!sender_->SendAtOnce(edge, record, source)) {
    uint8_t* payload = sender_->AppendRecord(edge, record, record.bytes);
    if (record.bytes > 0) std::memcpy(payload, source, record.bytes);
    if (AnyMemoryLost() && UsesLostMemory(port, descriptor)) {
      sender_->Retract(edge, record.bytes);
      return StepOutcome::kLost;
    }
  }
  if (record.bytes > 0 && port->IsCell(descriptor.source.region)) {
    ++stats_->packets_forwarded;
    stats_->bytes_forwarded += record.bytes;
  }
  trace().Record(*port, NearestCall(port->calls().finished(), descriptor.sequence),
                 {.kind = TraceKind::kPacketSent,
                  .flags = static_cast<uint8_t>(sequence->failed ? kTraceFailed : 0),
                  .phase = static_cast<uint16_t>(record.counter),
                  .subject = record.header.label,
                  .peer = TraceTag(edge->peer->incarnation),
                  .bytes = record.bytes});
  *used_bytes += record.bytes;
  ++(kind == RecordKind::kPut ? stats_->puts_sent : stats_->packets_sent);
  return StepOutcome::kDone;
}

SequenceRunner::StepOutcome SequenceRunner::RunReduce(Sequence* sequence, const Descriptor& descriptor,
                                                      uint64_t allowance_bytes, uint64_t* used_bytes) {
  if (descriptor.bytes == 0) return StepOutcome::kDone;
  Port* port = sequence->port;
  // There are two rounds: the first makes the eager buffers large enough, so that the second one's pointers stay valid.
  std::array<const uint8_t*, kAluOperandsMax> operands;
  uint8_t* target = nullptr;
  for (int round = 0; round < 2; ++round) {
    for (uint8_t k = 0; k < descriptor.operand_count; ++k) {
      operands[k] = port->Resolve(descriptor.operands[k], descriptor.bytes, /*write=*/false);
      if (operands[k] == nullptr) return StepOutcome::kFailed;
    }
    target = port->Resolve(descriptor.target, descriptor.bytes, /*write=*/true);
    if (target == nullptr) return StepOutcome::kFailed;
  }
  const uint32_t element = ElementBytes(descriptor.alu_type);
  const uint32_t done = sequence->done_bytes;
  const uint64_t allowed = std::max<uint64_t>(element, allowance_bytes / element * element);
  const uint32_t now = static_cast<uint32_t>(std::min<uint64_t>(descriptor.bytes - done, allowed));
  for (uint8_t k = 0; k < descriptor.operand_count; ++k) operands[k] += done;
  trace().Work(TraceKind::kReduceBegin, *sequence, descriptor.operand_count, now);
  const absl::Status status =
      AluReduce(descriptor.alu_op, descriptor.alu_type, absl::MakeConstSpan(operands.data(), descriptor.operand_count),
                now / element, target + done);
  CHECK(status.ok());  // Post has checked all its preconditions
  stats_->alu_bytes += now;
  stats_->alu_operand_bytes += uint64_t{now} * descriptor.operand_count;
  *used_bytes += now;
  sequence->done_bytes += now;
  if (trace().ring() != nullptr && now >= kStampBytes) trace().ring()->Stamp();
  trace().Work(TraceKind::kReduceEnd, *sequence, descriptor.operand_count, now);
  if (sequence->done_bytes == descriptor.bytes) ++stats_->reduces;
  return sequence->done_bytes == descriptor.bytes ? StepOutcome::kDone : StepOutcome::kInterrupted;
}

SequenceRunner::StepOutcome SequenceRunner::RunCopy(Sequence* sequence, const Descriptor& descriptor,
                                                    uint64_t allowance_bytes, uint64_t* used_bytes) {
  if (descriptor.bytes == 0) return StepOutcome::kDone;
  const auto [source, target] = ResolveCopy(sequence->port, descriptor.source, descriptor.target, descriptor.bytes);
  if (target == nullptr) return StepOutcome::kFailed;
  const uint32_t done = sequence->done_bytes;
  uint32_t now =
      static_cast<uint32_t>(std::min<uint64_t>(descriptor.bytes - done, std::max<uint64_t>(1, allowance_bytes)));
  // Overlapping ranges are copied in one step, or one step would overwrite the source of the next.
  const uintptr_t from = reinterpret_cast<uintptr_t>(source);
  const uintptr_t to = reinterpret_cast<uintptr_t>(target);
  if ((from < to ? to - from : from - to) < descriptor.bytes) now = descriptor.bytes - done;
  trace().Work(TraceKind::kCopyBegin, *sequence, 0, now);
  std::memmove(target + done, source + done, now);
  stats_->copy_bytes += now;
  *used_bytes += now;
  sequence->done_bytes += now;
  if (trace().ring() != nullptr && now >= kStampBytes) trace().ring()->Stamp();
  trace().Work(TraceKind::kCopyEnd, *sequence, 0, now);
  if (sequence->done_bytes == descriptor.bytes) ++stats_->copies;
  return sequence->done_bytes == descriptor.bytes ? StepOutcome::kDone : StepOutcome::kInterrupted;
}

// Each run is copied in one step, so done_bytes counts runs.
SequenceRunner::StepOutcome SequenceRunner::RunCopyList(Sequence* sequence, const Descriptor& descriptor,
                                                        uint64_t allowance_bytes, uint64_t* used_bytes) {
  constexpr uint64_t kRunCostBytes = 16;
  Port* port = sequence->port;
  uint64_t used = 0;
  uint64_t copied = 0;
  bool is_valid = true;
  trace().Work(TraceKind::kCopyBegin, *sequence, 0, 0);
  while (sequence->done_bytes < descriptor.bytes && used < std::max<uint64_t>(1, allowance_bytes)) {
    const CopyRun& run = descriptor.runs[sequence->done_bytes];
    const CopyEnds ends = ResolveCopy(port, run.source, run.target, run.bytes);
    is_valid = ends.target != nullptr;
    if (!is_valid) break;
    std::memmove(ends.target, ends.source, run.bytes);
    copied += run.bytes;
    used += run.bytes + kRunCostBytes;
    ++sequence->done_bytes;
  }
  stats_->copy_bytes += copied;
  *used_bytes += used;
  if (trace().ring() != nullptr && copied >= kStampBytes) trace().ring()->Stamp();
  trace().Work(TraceKind::kCopyEnd, *sequence, 0, static_cast<uint32_t>(copied));
  if (!is_valid) return StepOutcome::kFailed;
  if (sequence->done_bytes < descriptor.bytes) return StepOutcome::kInterrupted;
  ++stats_->copies;
  return StepOutcome::kDone;
}

void SequenceRunner::DropSequence(Sequence* sequence) {
  Port* port = sequence->port;
  port->calls().slot(sequence->slot).sequences.Remove(sequence);
  --port->sequences_used;
  port->events_armed -= sequence->events;
  switch (sequence->state) {
    case SequenceState::kArmed:
      DropLanding(sequence);
      port->calls().counter(sequence->counter).armed.Remove(sequence);
      break;
    case SequenceState::kReady:
      ready_->Remove(port->job, sequence);
      break;
    case SequenceState::kWaiting:
      sender_->StopWaiting(port->edge(sequence->wait_edge), sequence);
      break;
    case SequenceState::kRunning:
      sequence->dropped = true;
      return;
    case SequenceState::kParked:
      break;
  }
  sequences_.Free(sequence);
}

void SequenceRunner::DropSequences(Port* port, uint32_t slot) {
  while (Sequence* sequence = port->calls().slot(slot).sequences.front()) DropSequence(sequence);
}

}  // namespace copse::emu
