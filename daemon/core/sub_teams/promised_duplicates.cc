// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/promised_duplicates.h"

#include <algorithm>
#include <utility>

#include "daemon/core/peers/peer_messages.h"

namespace copse::daemon {

// Returns whether the sub-team has as many ranks as its parent, and all ranks here have joined it.
bool PromisedDuplicates::IsDuplicate(const SubTeamFormation& formation, const Team& parent) {
  const auto& ranks = parent.members().ranks();
  return formation.size == parent.layout().shape.size() && formation.own.size() == ranks.size() &&
         std::equal(ranks.begin(), ranks.end(), formation.own.begin(),
                    [](Rank rank, const auto& own) { return rank == own.first; });
}

bool PromisedDuplicates::Prepare(const SubTeamKey& key, SubTeamFormation* formation) {
  const Team& parent = *teams_->Find(key.first);
  const TeamId id = parents_->at(key.first).promised;
  if (id == TeamId(0) || !IsDuplicate(*formation, parent) || formations_->HasId(id)) return false;
  parents_->TakePromise(key.first);
  formation->is_ahead = true;
  formations_->SetId(key, id);
  const SubTeamPrepareMessage m{
      .team = key.first, .identity = key.second, .id = id, .parent_epoch = parent.epoch(), .runs = {}};
  if (local_->Prepare(m, formation)) Drop(formation);
  return formation->is_ahead;
}

void PromisedDuplicates::Drop(SubTeamFormation* formation) {
  if (std::exchange(formation->is_ahead, false)) formations_->ReleaseId(local_->Undo(formation));
}

}  // namespace copse::daemon
