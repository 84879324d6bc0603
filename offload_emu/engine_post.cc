// SPDX-License-Identifier: Apache-2.0
//
// Checks descriptor sequences, once, when they are posted, and drops them when their call ends.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "offload_emu/engine.h"

namespace copse::emu {

absl::Status Engine::CheckAtMost(const char* what, uint64_t value, uint64_t limit) {
  if (value <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", value, " (limit ", limit, ")"));
}

absl::Status Engine::NoSuchPort(PortId id) {
  return absl::NotFoundError(absl::StrCat("port ", id.index, " generation ", id.generation, " is not open"));
}

absl::Status Engine::CheckCounter(const Port& port, CounterIndex counter) const {
  const uint32_t count = port.counter_count();
  if (counter >= count) {
    return absl::InvalidArgumentError(absl::StrCat("counter ", counter, " (limit ", count, ")"));
  }
  return absl::OkStatus();
}

absl::Status Engine::CheckDescriptor(const Port& port, const Descriptor& descriptor) const {
  if (descriptor.counter != kNoCounter) RETURN_IF_ERROR(CheckCounter(port, descriptor.counter));
  const auto check_region = [&](const char* what, const MemoryRef& ref) {
    if (descriptor.bytes == 0 || ref.region < port.region_count()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(what, " region ", ref.region, " (limit ", port.region_count(), ")"));
  };
  if ((descriptor.options & kOptionLand) != 0) {
    RETURN_IF_ERROR(CheckAtMost("landing counter", descriptor.remote_counter, port.options().counters_per_slot - 1));
  }
  switch (descriptor.op) {
    case OpCode::kSend:
    case OpCode::kPut:
    case OpCode::kGet: {
      if (port.edge(descriptor.edge) == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("edge ", descriptor.edge, " does not exist"));
      }
      uint64_t call = 0;
      if (port.has_calls() && !port.CallInWindow(descriptor.sequence, &call)) {
        return absl::InvalidArgumentError(absl::StrCat("sequence ", descriptor.sequence, " is outside the window [",
                                                       port.finished(), ", +", port.options().slots, ")"));
      }
      RETURN_IF_ERROR(
          CheckAtMost("bytes", descriptor.bytes, descriptor.op == OpCode::kSend ? kMpPayloadBytes : kPutBytesMax));
      return descriptor.op == OpCode::kGet ? check_region("target", descriptor.target)
                                           : check_region("source", descriptor.source);
    }
    case OpCode::kReduce: {
      if (descriptor.operand_count == 0 || descriptor.operand_count > kAluOperandsMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("operand_count ", descriptor.operand_count, " (limit 1 to ", kAluOperandsMax, ")"));
      }
      if (!IsDefined(descriptor.alu_op, descriptor.alu_type)) {
        return absl::InvalidArgumentError(absl::StrCat("operation ", AbslView(ElementOpName(descriptor.alu_op)),
                                                       " on type ", AbslView(ElementTypeName(descriptor.alu_type))));
      }
      if (descriptor.bytes % ElementBytes(descriptor.alu_type) != 0) {
        return absl::InvalidArgumentError(absl::StrCat("bytes ", descriptor.bytes, ": no multiple of ",
                                                       AbslView(ElementTypeName(descriptor.alu_type))));
      }
      for (uint8_t k = 0; k < descriptor.operand_count; ++k) {
        RETURN_IF_ERROR(check_region("operand", descriptor.operands[k]));
      }
      return check_region("target", descriptor.target);
    }
    case OpCode::kCopy:
      RETURN_IF_ERROR(check_region("source", descriptor.source));
      return check_region("target", descriptor.target);
    case OpCode::kCopyList:
      for (uint32_t i = 0; i < descriptor.bytes; ++i) {
        RETURN_IF_ERROR(check_region("source", descriptor.runs[i].source));
        RETURN_IF_ERROR(check_region("target", descriptor.runs[i].target));
      }
      return absl::OkStatus();
    case OpCode::kCount:
    case OpCode::kEvent:
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("op ", static_cast<int>(descriptor.op), " is unknown"));
}

// Returns the slot of the call that a sequence belongs to, and with which it is dropped: its trigger's, else its first
// transfer's, else its first counter's, else the slot for sequences without a call.
uint32_t Engine::SlotOf(const Port& port, const Trigger& trigger, absl::Span<const Descriptor> descriptors) const {
  if (!port.has_calls()) return port.options().slots;
  if (trigger.counter != kNoCounter) return trigger.counter / port.options().counters_per_slot;
  for (const Descriptor& descriptor : descriptors) {
    if (descriptor.op <= OpCode::kGet) return port.SlotOf(descriptor.sequence);
  }
  for (const Descriptor& descriptor : descriptors) {
    if (descriptor.counter != kNoCounter) return descriptor.counter / port.options().counters_per_slot;
  }
  return port.options().slots;
}

absl::Status Engine::Post(PortId id, const Trigger& trigger, absl::Span<const Descriptor> descriptors) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  if (descriptors.empty() || descriptors.size() > kSequenceDescriptorsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence of ", descriptors.size(), " descriptors (limit 1 to ", kSequenceDescriptorsMax, ")"));
  }
  if (trigger.counter != kNoCounter) RETURN_IF_ERROR(CheckCounter(*port, trigger.counter));
  uint32_t events = 0;
  for (const Descriptor& descriptor : descriptors) {
    RETURN_IF_ERROR(CheckDescriptor(*port, descriptor));
    if (descriptor.op == OpCode::kEvent) ++events;
  }
  const uint32_t slot = SlotOf(*port, trigger, descriptors);
  if (port->slot(slot).finished) {
    return absl::InvalidArgumentError(absl::StrCat("the call in slot ", slot, " is over"));
  }
  if (port->sequences_used >= port->options().sequences) {
    return absl::ResourceExhaustedError(
        absl::StrCat("sequences: ", port->sequences_used, " are posted (limit ", port->options().sequences, ")"));
  }
  if (port->events_armed + events > port->options().eq_entries) {
    return absl::ResourceExhaustedError(absl::StrCat("eq_entries: ", port->events_armed, " events are posted, ", events,
                                                     " more (limit ", port->options().eq_entries, ")"));
  }
  Sequence* sequence = sequences_.New(descriptors);
  sequence->port = port;
  sequence->slot = slot;
  sequence->counter = trigger.counter;
  sequence->threshold = trigger.threshold;
  sequence->priority = trigger.priority;
  sequence->events = static_cast<uint8_t>(events);
  port->slot(slot).sequences.PushBack(sequence);
  ++port->sequences_used;
  port->events_armed += events;
  ++stats_.sequences_posted;
  if (trigger.counter == kNoCounter) {
    MakeReady(sequence);
    return absl::OkStatus();
  }
  SequenceList& armed = port->counter(trigger.counter).armed;
  Sequence* place = armed.back();
  while (place != nullptr && place->threshold > trigger.threshold) place = place->previous;
  armed.InsertAfter(place, sequence);
  if (port->has_calls()) ArmLanding(sequence);
  AddCount(port, trigger.counter, 0, 0);  // the threshold may have been reached already
  return absl::OkStatus();
}

void Engine::ArmLanding(Sequence* sequence) {
  const auto descriptors = absl::MakeConstSpan(sequence->descriptors(), sequence->count);
  const auto first = std::find_if(descriptors.begin(), descriptors.end(),
                                  [](const Descriptor& descriptor) { return (descriptor.options & kOptionLand) != 0; });
  if (first == descriptors.end()) return;
  Port* port = sequence->port;
  sequence->lands = port->Block(sequence->slot).AddLanding(first->remote_counter, sequence);
}

// Excludes the sequence from direct placement.
void Engine::DropLanding(Sequence* sequence) {
  if (!sequence->lands) return;
  sequence->port->Block(sequence->slot).RemoveLanding(sequence);
  sequence->lands = false;
}

absl::Status Engine::Count(PortId id, CounterIndex counter, uint64_t success, uint64_t failure) {
  Port* port = Find(id);
  if (port == nullptr) return NoSuchPort(id);
  RETURN_IF_ERROR(CheckCounter(*port, counter));
  const uint32_t slot = counter / port->options().counters_per_slot;
  if (port->slot(slot).finished) {
    return absl::InvalidArgumentError(absl::StrCat("the call in slot ", slot, " is over"));
  }
  AddCount(port, counter, success, failure);
  return absl::OkStatus();
}

CounterValue Engine::ReadCounter(PortId id, CounterIndex index) const {
  Port* port = Find(id);
  if (port == nullptr || !CheckCounter(*port, index).ok()) return {};
  if (port->slot(index / port->options().counters_per_slot).block == nullptr) return {};
  const Counter& counter = port->counter(index);
  return {counter.success, counter.failure};
}

void Engine::DropSequence(Sequence* sequence) {
  Port* port = sequence->port;
  port->slot(sequence->slot).sequences.Remove(sequence);
  --port->sequences_used;
  port->events_armed -= sequence->events;
  switch (sequence->state) {
    case SequenceState::kArmed:
      DropLanding(sequence);
      port->counter(sequence->counter).armed.Remove(sequence);
      break;
    case SequenceState::kReady:
      ready_.Remove(port->job, sequence);
      break;
    case SequenceState::kWaiting:
      port->edge(sequence->wait_edge)->waiting.Remove(sequence);
      --stats_.sends_waiting;
      break;
    case SequenceState::kRunning:
      sequence->dropped = true;
      return;
    case SequenceState::kParked:
      break;
  }
  sequences_.Free(sequence);
}

void Engine::DropSequences(Port* port, uint32_t slot) {
  while (Sequence* sequence = port->slot(slot).sequences.front()) DropSequence(sequence);
}

}  // namespace copse::emu
