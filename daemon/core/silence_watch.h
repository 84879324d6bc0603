// SPDX-License-Identifier: Apache-2.0
//
// Neighbors that are silent, and what this daemon's own silence means to them.
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

// A cut link looks the same from both ends. So which node is lost is the verdict of the planner, which hears both, and
// comes as BreakTeam; without one in time, the silent neighbor is lost. Thread-compatible; all pointers outlive it.
class SilenceWatch {
 public:
  struct Timeouts {
    absl::Duration heartbeat;
    absl::Duration node_timeout;
  };
  SilenceWatch(NeighbourTable* neighbours, PlannerSession* planner, const TeamTable* teams)
      : neighbours_(neighbours), planner_(planner), teams_(teams) {}

  // The daemon did nothing for `gap`, until `now`: it must not take its own silence for the others'.
  void OnGap(absl::Duration gap, absl::Time now, const Timeouts& timeouts);
  // Whether neighbors may have given this daemon up lately: they close the connection to a daemon that they heard
  // nothing from, and it is not they that are lost. How long it stood still; zero: they have not.
  absl::Duration GivenUpAfter(absl::Time now, const Timeouts& timeouts) const;

  // Asks the planner about neighbors that have become silent, and calls `lose` for each that is lost by this daemon's
  // own judgement. Returns those that are unused since the planner's verdict, which has broken their teams.
  std::vector<Incarnation> Weigh(absl::Time now, const Timeouts& timeouts, absl::FunctionRef<void(Incarnation)> lose);

 private:
  void Accuse(Incarnation peer, absl::Time now, const Timeouts& timeouts);

  NeighbourTable* const neighbours_;
  PlannerSession* const planner_;
  const TeamTable* const teams_;
  std::map<Incarnation, absl::Time> accused_;  // silent neighbors whose verdict is awaited, and since when
  absl::Duration stood_still_;                 // before the last pause that others may have taken for its loss
  absl::Time went_on_ = absl::InfinitePast();
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SILENCE_WATCH_H_
