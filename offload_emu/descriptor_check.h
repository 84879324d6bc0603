// SPDX-License-Identifier: Apache-2.0
//
// Checks descriptor sequences, once, when they are posted.
#ifndef COPSE_OFFLOAD_EMU_DESCRIPTOR_CHECK_H_
#define COPSE_OFFLOAD_EMU_DESCRIPTOR_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "offload_emu/descriptor.h"
#include "offload_emu/port.h"

namespace copse::emu {

// Returns INVALID_ARGUMENT, with name, value and limit, if the value exceeds the limit.
absl::Status CheckAtMost(const char* what, uint64_t value, uint64_t limit);

// Returns INVALID_ARGUMENT if the port has no such counter.
absl::Status CheckCounter(const Port& port, CounterIndex counter);

// Returns INVALID_ARGUMENT if the call is outside the port's window, or over.
absl::Status CheckInWindow(const Port& port, CallSeq seq);

// Returns INVALID_ARGUMENT if the call in `slot` is over.
absl::Status CheckNotOver(const Port& port, uint32_t slot);

// Returns the slot of the call that a sequence belongs to, and with which it is dropped: its trigger's, else its first
// transfer's, else its first counter's, else the slot for sequences without a call. Precondition: its counters exist.
uint32_t SlotOf(const Port& port, const Trigger& trigger, absl::Span<const Descriptor> descriptors);

// Returns the number of kEvent descriptors.
uint32_t EventCount(absl::Span<const Descriptor> descriptors);

// Returns the errors of Engine::Post, or OK.
absl::Status CheckSequence(const Port& port, const Trigger& trigger, absl::Span<const Descriptor> descriptors);

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_DESCRIPTOR_CHECK_H_
