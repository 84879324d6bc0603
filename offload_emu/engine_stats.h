// SPDX-License-Identifier: Apache-2.0
//
// Counts what an engine has done.
#ifndef COPSE_OFFLOAD_EMU_ENGINE_STATS_H_
#define COPSE_OFFLOAD_EMU_ENGINE_STATS_H_

#include <cstdint>

namespace copse::emu {

// EngineStats holds counters since the engine was made, and some current values (*_waiting, memory_*).
// docs/reference/instruments.md has the names that `copsectl stats` prints.
struct EngineStats {
  uint64_t frames_sent = 0, frames_received = 0;
  uint64_t packets_sent = 0, packets_received = 0;
  uint64_t puts_sent = 0, puts_received = 0, gets_sent = 0, gets_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t packets_forwarded = 0, bytes_forwarded = 0;  // sent unchanged, straight from an eager buffer
  uint64_t sequences_posted = 0, sequences_run = 0, descriptors_run = 0;
  uint64_t reduces = 0, alu_bytes = 0, copies = 0, copy_bytes = 0;
  uint64_t alu_operand_bytes = 0;  // bytes that reductions read; alu_bytes: bytes that they wrote
  // These count credit sent in records of its own, and newer credit that a packet, put or get carried.
  uint64_t credits_sent = 0, credits_piggybacked = 0, credit_asks = 0, credit_stalls = 0;
  // These count sequences whose send waits for a label, credit, room in the outbox or (gets) a reply, and frames that
  // the transport has not taken yet.
  uint64_t sends_waiting = 0, sends_waiting_max = 0, frames_waiting = 0;
  uint64_t events = 0;
  uint64_t puts_landed = 0;  // received puts that were placed directly at the target of a copy
  uint64_t dropped_malformed = 0, dropped_label = 0, dropped_window = 0, dropped_incarnation = 0, dropped_mpq_full = 0;
  uint64_t dropped_version = 0, dropped_duplicate = 0, dropped_mismatch = 0, dropped_refused = 0;
  uint64_t memory_reserved_bytes = 0, memory_used_bytes = 0, memory_used_bytes_max = 0;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_ENGINE_STATS_H_
