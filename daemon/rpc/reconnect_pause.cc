// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/reconnect_pause.h"

#include <algorithm>

namespace copse::daemon {

ReconnectPause::ReconnectPause(ReconnectPauseOptions options, uint64_t seed)
    : options_(options), bound_(options.first), prng_(seed) {}

absl::Duration ReconnectPause::Next(absl::Duration stood) {
  if (stood > bound_) bound_ = options_.first;
  const absl::Duration pause = bound_ * prng_.Unit();
  bound_ = std::min<absl::Duration>(2 * bound_, options_.longest);
  return pause;
}

absl::Duration ReconnectPause::NextWhenRefused() { return options_.longest * (0.5 + 0.5 * prng_.Unit()); }

}  // namespace copse::daemon
