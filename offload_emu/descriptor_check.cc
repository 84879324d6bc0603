// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/descriptor_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "offload_emu/alu/alu.h"

namespace copse::emu {
namespace {

absl::Status CheckDescriptor(const Port& port, const Descriptor& descriptor) {
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
      if (port.has_calls() && !port.calls().Find(descriptor.sequence, &call)) {
        return absl::InvalidArgumentError(absl::StrCat("sequence ", descriptor.sequence, " is outside the window [",
                                                       port.calls().finished(), ", +", port.options().slots, ")"));
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

}  // namespace

absl::Status CheckAtMost(const char* what, uint64_t value, uint64_t limit) {
  if (value <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", value, " (limit ", limit, ")"));
}

absl::Status CheckCounter(const Port& port, CounterIndex counter) {
  const uint32_t count = port.calls().counter_count();
  if (counter >= count) {
    return absl::InvalidArgumentError(absl::StrCat("counter ", counter, " (limit ", count, ")"));
  }
  return absl::OkStatus();
}

absl::Status CheckInWindow(const Port& port, CallSeq seq) {
  if (port.calls().Has(seq.value())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("call ", seq.value(), " is outside the window [",
                                                 port.calls().finished(), ", +", port.options().slots, "), or over"));
}

absl::Status CheckNotOver(const Port& port, uint32_t slot) {
  if (!port.calls().slot(slot).finished) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the call in slot ", slot, " is over"));
}

uint32_t SlotOf(const Port& port, const Trigger& trigger, absl::Span<const Descriptor> descriptors) {
  if (!port.has_calls()) return port.options().slots;
  if (trigger.counter != kNoCounter) return trigger.counter / port.options().counters_per_slot;
  for (const Descriptor& descriptor : descriptors) {
    if (descriptor.op <= OpCode::kGet) return port.calls().SlotOf(descriptor.sequence);
  }
  for (const Descriptor& descriptor : descriptors) {
    if (descriptor.counter != kNoCounter) return descriptor.counter / port.options().counters_per_slot;
  }
  return port.options().slots;
}

uint32_t EventCount(absl::Span<const Descriptor> descriptors) {
  return static_cast<uint32_t>(std::count_if(descriptors.begin(), descriptors.end(), [](const Descriptor& descriptor) {
    return descriptor.op == OpCode::kEvent;
  }));
}

absl::Status CheckSequence(const Port& port, const Trigger& trigger, absl::Span<const Descriptor> descriptors) {
  if (descriptors.empty() || descriptors.size() > kSequenceDescriptorsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence of ", descriptors.size(), " descriptors (limit 1 to ", kSequenceDescriptorsMax, ")"));
  }
  if (trigger.counter != kNoCounter) RETURN_IF_ERROR(CheckCounter(port, trigger.counter));
  for (const Descriptor& descriptor : descriptors) RETURN_IF_ERROR(CheckDescriptor(port, descriptor));
  RETURN_IF_ERROR(CheckNotOver(port, SlotOf(port, trigger, descriptors)));
  if (port.sequences_used >= port.options().sequences) {
    return absl::ResourceExhaustedError(
        absl::StrCat("sequences: ", port.sequences_used, " are posted (limit ", port.options().sequences, ")"));
  }
  const uint32_t events = EventCount(descriptors);
  if (port.events_armed + events > port.options().eq_entries) {
    return absl::ResourceExhaustedError(absl::StrCat("eq_entries: ", port.events_armed, " events are posted, ", events,
                                                     " more (limit ", port.options().eq_entries, ")"));
  }
  return absl::OkStatus();
}

}  // namespace copse::emu
