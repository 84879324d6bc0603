// SPDX-License-Identifier: Apache-2.0
//
// Adds what happens at ports to the engine's trace.
#ifndef COPSE_OFFLOAD_EMU_PORT_TRACE_H_
#define COPSE_OFFLOAD_EMU_PORT_TRACE_H_

#include <cstdint>

#include "offload_emu/port.h"
#include "offload_emu/sequence.h"
#include "offload_emu/trace_ring.h"

namespace copse::emu {

// A PortTrace completes the records of ports. Without a ring it does nothing. Thread-compatible.
class PortTrace {
 public:
  // `ring` may be null, and must outlive the object.
  explicit PortTrace(TraceRing* ring) : ring_(ring) {}

  TraceRing* ring() const { return ring_; }

  // Records the port's team and, if the port has calls, the team's number of `call`, which counts from the port's
  // first.
  void Record(const Port& port, uint64_t call, TraceRecord record) const {
    if (ring_ == nullptr) return;
    record.team = port.trace_team;
    if (port.has_calls()) record.call = port.trace_first_call + static_cast<uint32_t>(call);
    ring_->Record(record);
  }
  // Records the start or the end of a copy or reduction.
  void Work(TraceKind kind, const Sequence& sequence, uint32_t peer, uint64_t bytes) const {
    if (ring_ == nullptr) return;
    const Port& port = *sequence.port;
    Record(port, port.calls().CallOf(sequence.slot),
           {.kind = kind, .subject = port.id().index, .peer = peer, .bytes = static_cast<uint32_t>(bytes)});
  }

 private:
  TraceRing* const ring_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_PORT_TRACE_H_
