// SPDX-License-Identifier: Apache-2.0
//
// Decides when the fabric sleeps and when it spins.
#ifndef COPSE_TESTBED_FABRIC_PACER_H_
#define COPSE_TESTBED_FABRIC_PACER_H_

#include <algorithm>
#include <cstdint>

#include "testbed/fabric/due_times.h"

namespace copse::fabric {

struct PacerOptions {
  int64_t margin_ns = 110'000;   // from the end of a sleep to a delivery: a wake-up is late by most of that
  double spin_share_max = 0.25;  // share of the time
  int64_t spin_burst_ns = 5'000'000;
};

// A Pacer computes how long the loop sleeps before a delivery. It ends sleeps early and lets the loop spin for the
// rest, as long as spins stay within their share of the time; then sleeps end when the delivery is due, and it will
// be late by a wake-up. Thread-compatible.
class Pacer {
 public:
  Pacer(PacerOptions options, int64_t now_ns)
      : options_(options), last_ns_(now_ns), tokens_ns_(options.spin_burst_ns) {}

  // Returns the time to sleep: 0 to poll and return at once, kNever until a packet comes. `idle`: nothing was done
  // since the last call.
  int64_t SleepNs(int64_t now_ns, int64_t next_delivery_ns, bool idle) {
    const int64_t elapsed_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    tokens_ns_ += static_cast<int64_t>(static_cast<double>(elapsed_ns) * options_.spin_share_max);
    if (spinning_ && idle) {
      tokens_ns_ -= elapsed_ns;
      spun_ns_ += elapsed_ns;
    }
    tokens_ns_ = std::min(tokens_ns_, options_.spin_burst_ns);
    spinning_ = false;
    if (next_delivery_ns == kNever) return kNever;
    const int64_t wait_ns = std::max<int64_t>(next_delivery_ns - now_ns, 0);
    if (tokens_ns_ <= 0) return wait_ns;
    if (wait_ns > options_.margin_ns) return wait_ns - options_.margin_ns;
    spinning_ = true;
    return 0;
  }

  int64_t spun_ns() const { return spun_ns_; }

 private:
  const PacerOptions options_;
  int64_t last_ns_;
  int64_t tokens_ns_;
  int64_t spun_ns_ = 0;
  bool spinning_ = false;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_PACER_H_
