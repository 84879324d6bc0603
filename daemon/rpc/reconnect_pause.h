// SPDX-License-Identifier: Apache-2.0
//
// The pause before a daemon that lost its planner tries again.
#ifndef COPSE_DAEMON_RPC_RECONNECT_PAUSE_H_
#define COPSE_DAEMON_RPC_RECONNECT_PAUSE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/prng.h"

namespace copse::daemon {

struct ReconnectPauseOptions {
  absl::Duration first = absl::Milliseconds(250);
  absl::Duration longest = absl::Seconds(5);
};

// Exponential backoff with full jitter: all daemons lose a planner at once, and must not all return at once to a
// planner that comes back, or is overloaded. Thread-compatible.
class ReconnectPause {
 public:
  ReconnectPause(ReconnectPauseOptions options, uint64_t seed);

  // Returns the pause after a stream that ended `stood` after the planner had accepted the daemon; zero if it never
  // did. Uniform over [0, bound): the bound begins with `first` and doubles up to `longest`. It begins again after a
  // stream that stood for longer than the bound, so that a planner which ends soon after each start sees fewer and
  // fewer tries.
  absl::Duration Next(absl::Duration stood);
  // Returns the pause after a refusal by the planner, which will hardly change soon: at least half of `longest`.
  absl::Duration NextWhenRefused();

 private:
  const ReconnectPauseOptions options_;
  absl::Duration bound_;
  Prng prng_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_RECONNECT_PAUSE_H_
