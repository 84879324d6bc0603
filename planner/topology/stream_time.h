// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_TOPOLOGY_STREAM_TIME_H_
#define COPSE_PLANNER_TOPOLOGY_STREAM_TIME_H_

#include <cstdint>

namespace copse::topology {

// Returns the time in ns by which the tail of a message follows its head, floor((bytes - 1) * 10^9 / bandwidth), or 0
// for at most one byte. Requires bytes <= 2^33 and bandwidth > 0.
inline int64_t StreamNs(uint64_t bytes, int64_t bandwidth_bytes_per_s) {
  if (bytes <= 1) return 0;
  return static_cast<int64_t>((bytes - 1) * 1'000'000'000 / static_cast<uint64_t>(bandwidth_bytes_per_s));
}

// Returns the time in ns of work on `bytes` bytes, rounded down.
inline int64_t PerByteNs(uint64_t bytes, int64_t ps_per_byte) {
  return static_cast<int64_t>(bytes) * ps_per_byte / 1000;
}

}  // namespace copse::topology
#endif  // COPSE_PLANNER_TOPOLOGY_STREAM_TIME_H_
