// SPDX-License-Identifier: Apache-2.0
//
// Computes the pause before a daemon that lost its planner tries again.
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

// A ReconnectPause computes exponential backoff with full jitter: all daemons lose a planner at once, and must not all
// connect at once to a planner that restarts or is overloaded. Thread-compatible.
class ReconnectPause {
 public:
  ReconnectPause(ReconnectPauseOptions options, uint64_t seed);

  // Returns the pause after a stream. `stood`: the time from the planner's acceptance of the daemon to the stream's
  // end; zero if it was never accepted. The pause is uniform over [0, bound), where the bound begins with `first` and
  // doubles up to `longest`. It begins again after a stream that stood for longer than the bound, so that a planner
  // which ends soon after each start gets fewer and fewer tries.
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
