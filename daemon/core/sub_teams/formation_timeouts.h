// SPDX-License-Identifier: Apache-2.0
//
// Tells when the formation of a sub-team has taken too long.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_FORMATION_TIMEOUTS_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_FORMATION_TIMEOUTS_H_

#include <optional>

#include "absl/time/time.h"
#include "base/clock.h"
#include "daemon/core/core_options.h"
#include "daemon/core/sub_teams/parent_trees.h"
#include "daemon/core/sub_teams/sub_team_formation.h"

namespace copse::daemon {

// FormationTimeouts judges formations by the time that they have been in their state. The root ends what others are
// late for, and the other daemons what they hear nothing of from the root. Thread-compatible.
class FormationTimeouts {
 public:
  // All must outlive this object.
  FormationTimeouts(const Clock* clock, const CoreOptions* options, const ParentTrees* parents)
      : clock_(clock), options_(options), parents_(parents) {}

  // Returns why the formation, which is not over, ends now; nothing: it goes on.
  std::optional<SubTeamOutcome> Expired(const SubTeamKey& key, const SubTeamFormation& formation) const;
  // Returns whether no join comes any more for which the outcome of a formation is kept.
  bool IsOutcomeOld(const SubTeamFormation& formation) const;

 private:
  // At the root: joins are missing.
  SubTeamOutcome NotGathered(const SubTeamKey& key, const SubTeamFormation& formation) const;
  // At the root: answers to Prepare are missing.
  SubTeamOutcome NotPrepared(const SubTeamKey& key, const SubTeamFormation& formation) const;
  // At another daemon: the root, or a daemon on the way from it, has said nothing for `timeout` and kRootGrace.
  static SubTeamOutcome NotDecided(const SubTeamKey& key, absl::Duration timeout);

  const Clock* const clock_;
  const CoreOptions* const options_;
  const ParentTrees* const parents_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_FORMATION_TIMEOUTS_H_
