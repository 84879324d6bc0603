// SPDX-License-Identifier: Apache-2.0
//
// One of two processes that send a packet back and forth.
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

// Calls: Address, Connect, then Send and Receive in any order.
class HopSide {
 public:
  virtual ~HopSide() = default;
  virtual std::string Address() = 0;
  virtual absl::Status Connect(const std::string& peer_address) = 0;
  virtual absl::Status Send() = 0;
  // Returns once a packet has come: polls for it, or sleeps.
  virtual absl::Status Receive(bool sleep) = 0;
  // Moves on what was sent.
  virtual absl::Status Flush() = 0;
};

// An engine over the UCX transport; where it sleeps, it is the daemon's loop that does. `number` is 0 or 1.
absl::StatusOr<std::unique_ptr<HopSide>> NewEngineSide(uint32_t number);
// Active messages of UCX alone, with the same settings.
absl::StatusOr<std::unique_ptr<HopSide>> NewUcxSide();

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_HOP_SIDE_H_
