// SPDX-License-Identifier: Apache-2.0
//
// Prepares duplicates of teams before their root asks for it.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_PROMISED_DUPLICATES_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_PROMISED_DUPLICATES_H_

#include "base/ids.h"
#include "daemon/core/sub_teams/formation_table.h"
#include "daemon/core/sub_teams/local_preparation.h"
#include "daemon/core/sub_teams/parent_trees.h"
#include "daemon/core/sub_teams/sub_team_formation.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"

namespace copse::daemon {

// PromisedDuplicates prepares duplicates with the ids that the roots of their parents have promised. The joins of this
// node, which are sent next, say so. Thread-compatible.
class PromisedDuplicates {
 public:
  // All must outlive this object.
  PromisedDuplicates(const TeamTable* teams, ParentTrees* parents, FormationTable* formations, LocalPreparation* local)
      : teams_(teams), parents_(parents), formations_(formations), local_(local) {}

  // Prepares the sub-team if it is a duplicate of its parent, an id is promised, and all ranks here have joined.
  // Returns whether it did: the formation is ahead then, and still gathers joins.
  bool Prepare(const SubTeamKey& key, SubTeamFormation* formation);
  // The promise is void, or the root has not taken it: undoes Prepare, if the formation is ahead.
  void Drop(SubTeamFormation* formation);

 private:
  static bool IsDuplicate(const SubTeamFormation& formation, const Team& parent);

  const TeamTable* const teams_;
  ParentTrees* const parents_;
  FormationTable* const formations_;
  LocalPreparation* const local_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_PROMISED_DUPLICATES_H_
