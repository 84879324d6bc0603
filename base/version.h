// SPDX-License-Identifier: Apache-2.0
//
// Defines Copse's version, and the versions of the formats that its parts exchange.
//
// Each format's number rises by one at a change that an older reader would misread. Every side
// accepts its own version and the ones next to it, so that a cluster can be upgraded piece by
// piece.

#ifndef COPSE_BASE_VERSION_H_
#define COPSE_BASE_VERSION_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace copse {

inline constexpr char kVersion[] = "0.2.0";

inline constexpr uint32_t kRingLayoutVersion = 1;
inline constexpr uint32_t kPacketVersion = 1;
// Version 2 added TraceQuery; 3: MeasureQuery; 4: derived teams of collective classes; 5: features, terms, machines and
// Stopping.
inline constexpr uint32_t kProtoVersion = 5;
inline constexpr uint32_t kPlanFormatVersion = 1;

constexpr bool Compatible(uint32_t mine, uint32_t theirs) {
  return mine < theirs ? theirs - mine <= 1 : mine - theirs <= 1;
}

// Returns FAILED_PRECONDITION "ring layout 3 (this side 1)" unless compatible; `what` is the format's name.
absl::Status CheckVersion(std::string_view what, uint32_t mine, uint32_t theirs);

}  // namespace copse

#endif  // COPSE_BASE_VERSION_H_
