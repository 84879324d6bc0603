// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface of each of two processes that send a packet back and forth.
#ifndef COPSE_BENCH_PAIRS_HOP_SIDE_H_
#define COPSE_BENCH_PAIRS_HOP_SIDE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::bench {

inline constexpr uint32_t kHopHeaderBytes = 8;
inline constexpr uint32_t kHopPayloadBytes = 120;

// A HopSide is one process's connection to the other. Calls follow Address Connect (Send | Receive | Flush)*.
class HopSide {
 public:
  virtual ~HopSide() = default;
  virtual std::string Address() = 0;
  virtual absl::Status Connect(const std::string& peer_address) = 0;
  virtual absl::Status Send() = 0;
  // Waits for a packet, by sleeping if `sleep`, else by polling.
  virtual absl::Status Receive(bool sleep) = 0;
  // Makes progress on sent packets.
  virtual absl::Status Flush() = 0;
};

// Makes a side with an engine over the UCX transport, which sleeps in the daemon's loop. `number` is 0 or 1.
absl::StatusOr<std::unique_ptr<HopSide>> NewEngineSide(uint32_t number);
// Makes a side that uses UCX's active messages without Copse, with equal settings.
absl::StatusOr<std::unique_ptr<HopSide>> NewUcxSide();

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_HOP_SIDE_H_
