// SPDX-License-Identifier: Apache-2.0
//
// Models links that carry one message at a time in each direction.
#ifndef COPSE_SIM_LINKS_H_
#define COPSE_SIM_LINKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace copse::sim {

// A Hop is one direction of a link on a message's path.
struct Hop {
  int64_t latency_ns = 0;
  int64_t bandwidth_bytes_per_s = 0;
  uint32_t direction = 0;  // index in Links
};

// Links keeps the time at which each direction of each link becomes free. Thread-compatible.
class Links {
 public:
  explicit Links(size_t directions) : free_ns_(directions, 0) {}

  // Passes a message over a hop. Its head arrives at `time_ns` and waits until the direction is free, which the message
  // then occupies for `stream_ns`. Returns the time when the head is at the other end. Call in ascending order of time.
  int64_t Pass(const Hop& hop, int64_t stream_ns, int64_t time_ns) {
    int64_t& free_ns = free_ns_[hop.direction];
    const int64_t start_ns = std::max(time_ns, free_ns);
    free_ns = start_ns + stream_ns;
    return start_ns + hop.latency_ns;
  }

 private:
  std::vector<int64_t> free_ns_;
};

}  // namespace copse::sim

#endif  // COPSE_SIM_LINKS_H_
