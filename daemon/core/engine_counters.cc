// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/engine_counters.h"

#include <utility>

namespace copse::daemon {

void AppendCounters(const emu::EngineStats& s, std::map<std::string, uint64_t>* counters) {
  const std::pair<const char*, uint64_t> named[] = {
      {"engine.frames.sent", s.frames_sent},
      {"engine.frames.received", s.frames_received},
      {"engine.frames.waiting", s.frames_waiting},
      {"engine.bytes.sent", s.bytes_sent},
      {"engine.bytes.received", s.bytes_received},
      {"engine.bytes.forwarded", s.bytes_forwarded},
      {"engine.packets.sent", s.packets_sent},
      {"engine.packets.received", s.packets_received},
      {"engine.packets.forwarded", s.packets_forwarded},
      {"engine.puts.sent", s.puts_sent},
      {"engine.puts.received", s.puts_received},
      {"engine.puts.landed", s.puts_landed},
      {"engine.gets.sent", s.gets_sent},
      {"engine.gets.received", s.gets_received},
      {"engine.sequences.posted", s.sequences_posted},
      {"engine.sequences.run", s.sequences_run},
      {"engine.descriptors.run", s.descriptors_run},
      {"engine.events", s.events},
      {"engine.reduces.run", s.reduces},
      {"engine.reduces.bytes", s.alu_bytes},
      {"engine.copies.run", s.copies},
      {"engine.copies.bytes", s.copy_bytes},
      {"engine.credits.alone", s.credits_sent},
      {"engine.credits.piggybacked", s.credits_piggybacked},
      {"engine.credits.asked", s.credit_asks},
      {"engine.credits.stalls", s.credit_stalls},
      {"engine.sends.waiting", s.sends_waiting},
      {"engine.sends.waiting_max", s.sends_waiting_max},
      {"engine.memory.reserved_bytes", s.memory_reserved_bytes},
      {"engine.memory.used_bytes", s.memory_used_bytes},
      {"engine.memory.used_bytes_max", s.memory_used_bytes_max},
      {"engine.dropped.malformed", s.dropped_malformed},
      {"engine.dropped.label", s.dropped_label},
      {"engine.dropped.window", s.dropped_window},
      {"engine.dropped.incarnation", s.dropped_incarnation},
      {"engine.dropped.mpq_full", s.dropped_mpq_full},
      {"engine.dropped.refused", s.dropped_refused},
      {"engine.dropped.version", s.dropped_version},
      {"engine.dropped.duplicate", s.dropped_duplicate},
      {"engine.dropped.mismatch", s.dropped_mismatch},
  };
  for (const auto& [name, value] : named) (*counters)[name] = value;
}

}  // namespace copse::daemon
