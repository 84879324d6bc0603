// SPDX-License-Identifier: Apache-2.0
//
// The effects of one link of the emulated network on a packet, in each of its two directions.
#ifndef COPSE_TESTBED_FABRIC_LINK_SETTINGS_H_
#define COPSE_TESTBED_FABRIC_LINK_SETTINGS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace copse::fabric {

inline constexpr int64_t kLatencyNsMax = 1'000'000'000'000;           // 1000 s, as in the topology file
inline constexpr int64_t kBytesPerSecondMax = 1'000'000'000'000'000;  // 1 PB/s, as in the topology file
inline constexpr int64_t kQueueBytesMax = int64_t{1} << 30;           // 1 GiB
inline constexpr int64_t kQueuePacketsMax = 1'000'000;
inline constexpr int64_t kQueueBytesDefault = int64_t{1} << 20;

struct LinkSettings {
  int64_t latency_ns = 0;
  int64_t bytes_per_s = kBytesPerSecondMax;
  int64_t jitter_ns = 0;                     // added to the latency: uniform in [0, jitter_ns]
  double loss = 0;                           // probability that a packet is lost, in [0, 1]
  int64_t queue_bytes = kQueueBytesDefault;  // packets waiting for the link; one may always wait
  int64_t queue_packets = kQueuePacketsMax;  // packets waiting for the link
  bool reorder = false;                      // jitter may let a packet overtake another
  friend bool operator==(const LinkSettings&, const LinkSettings&) = default;
};

// Sets the value of `key`: latency and jitter (time), bandwidth or rate (bit/s or B/s), loss (0.01 or 1%), queue
// (bytes "256KiB" or packets "100p"; each leaves the other), reorder (true, false).
//
// Errors: INVALID_ARGUMENT "key: why (value=..., limit=...)"; `*settings` is then unchanged.
absl::Status SetLinkSetting(std::string_view key, std::string_view value, LinkSettings* settings);

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_LINK_SETTINGS_H_
