// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a silent neighbor is lost, or this daemon itself was silent.
#ifndef COPSE_DAEMON_CORE_SILENCE_WATCH_H_
#define COPSE_DAEMON_CORE_SILENCE_WATCH_H_

#include <map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/neighbors.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// A cut link looks the same from both ends. So a SilenceWatch reports a silent neighbor to the planner, which has the
// reports of all nodes; its verdict comes as BreakTeam. The silent neighbor is lost without a verdict in time, or at
// once if there is no planner that knows such reports. Thread-compatible; all pointers must outlive it.
class SilenceWatch {
 public:
  struct Timeouts {
    absl::Duration heartbeat;
    absl::Duration node_timeout;
  };
  SilenceWatch(NeighborTable* neighbors, PlannerSession* planner, const TeamTable* teams)
      : neighbors_(neighbors), planner_(planner), teams_(teams) {}

  // This daemon did not run for `gap`, until `now`. If that is more than half the time-out, it is not counted as
  // silence of the neighbors. Daemons run at least twice in that time, even with nothing to do.
  void OnGap(absl::Duration gap, absl::Time now, absl::Duration node_timeout) {
    if (gap + gap > node_timeout) AllowFor(gap, now);
  }
  // Neighbors close the connection to a daemon that was silent for too long: then this daemon is the one that is lost.
  // Returns the length of its last pause if neighbors may have noticed that and closed only now; else zero.
  absl::Duration GivenUpAfter(absl::Time now, const Timeouts& timeouts) const;

  // Reports neighbors that have become silent to the planner, and calls `lose` for each one without a verdict in time.
  // Returns those reported before that no team uses any more, usually because the verdict has broken their teams.
  std::vector<Incarnation> Weigh(absl::Time now, const Timeouts& timeouts, absl::FunctionRef<void(Incarnation)> lose);

 private:
  void AllowFor(absl::Duration gap, absl::Time now);
  void Accuse(Incarnation peer, absl::Time now, const Timeouts& timeouts);

  NeighborTable* const neighbors_;
  PlannerSession* const planner_;
  const TeamTable* const teams_;
  std::map<Incarnation, absl::Time> accused_;  // silent neighbors that await a verdict, with the time of the report
  absl::Duration stood_still_;                 // length of this daemon's last long pause
  absl::Time went_on_ = absl::InfinitePast();  // end of that pause
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SILENCE_WATCH_H_
