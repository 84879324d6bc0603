// SPDX-License-Identifier: Apache-2.0
//
// Decides about neighbors that are silent, and about this daemon's own silence.
#ifndef COPSE_DAEMON_CORE_SILENCE_WATCH_H_
#define COPSE_DAEMON_CORE_SILENCE_WATCH_H_

#include <map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/peers/neighbours.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// A cut link looks the same from both ends. So a SilenceWatch reports a silent neighbor to the planner, which receives
// from both nodes; its verdict comes as BreakTeam. Without a verdict in time, the silent neighbor is lost.
// Thread-compatible; all pointers outlive it.
class SilenceWatch {
 public:
  struct Timeouts {
    absl::Duration heartbeat;
    absl::Duration node_timeout;
  };
  SilenceWatch(NeighbourTable* neighbours, PlannerSession* planner, const TeamTable* teams)
      : neighbours_(neighbours), planner_(planner), teams_(teams) {}

  // This daemon did nothing for `gap`, until `now`: that time is not the neighbors' silence.
  void OnGap(absl::Duration gap, absl::Time now, absl::Duration node_timeout) {
    if (gap + gap > node_timeout) AllowFor(gap, now);  // each turn of the loop comes here
  }
  // Neighbors close the connection to a daemon that is silent for too long, and then it is not they that are lost.
  // Returns how long this daemon stood still if they may have done so lately; else zero.
  absl::Duration GivenUpAfter(absl::Time now, const Timeouts& timeouts) const;

  // Reports neighbors that have become silent to the planner, and calls `lose` for each one without a verdict in time.
  // Returns those that are unused since the planner's verdict, which has broken their teams.
  std::vector<Incarnation> Weigh(absl::Time now, const Timeouts& timeouts, absl::FunctionRef<void(Incarnation)> lose);

 private:
  void AllowFor(absl::Duration gap, absl::Time now);
  void Accuse(Incarnation peer, absl::Time now, const Timeouts& timeouts);

  NeighbourTable* const neighbours_;
  PlannerSession* const planner_;
  const TeamTable* const teams_;
  std::map<Incarnation, absl::Time> accused_;  // silent neighbors that await a verdict, with the time of the report
  absl::Duration stood_still_;                 // length of the last pause that neighbors may have taken for a loss
  absl::Time went_on_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SILENCE_WATCH_H_
