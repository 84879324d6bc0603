// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/sub_team_root.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

std::optional<SubTeamOutcome> SubTeamRoot::Add(const SubTeamKey& key, SubTeamFormation* formation, NodeIndex node,
                                               const std::vector<Rank>& ranks, uint32_t size) const {
  const schedule::TeamLayout& parent = *parents_->LayoutOf(key.first);
  FailureReport why;
  if (size == 0 || size > parent.shape.size()) {
    why = {.failure = Failure::kInvalidArgument,
           .text = absl::StrCat("size of a sub-team: ", size, " (limit 1 to ", parent.shape.size(), ")"),
           .limit = parent.shape.size()};
  } else {
    why = formation->gathering.Add(node, parent.nodes[node.value()].name, ranks, size);
  }
  if (why.failure == Failure::kNone) return std::nullopt;
  absl::StrAppend(&why.text, " (team=", schedule::DescribeTeam(key.second), ")");
  return SubTeamOutcome{why, false};
}

void SubTeamRoot::NoteAhead(const SubTeamJoinMessage& m, SubTeamFormation* formation) const {
  const Team* const parent = teams_->Find(m.team);
  if (m.prepared == TeamId(0) || m.prepared != parents_->at(m.team).promised || parent == nullptr) return;
  if (m.parent_epoch == parent->epoch()) formation->ahead[m.node] = m.prepared;
}

std::optional<SubTeamOutcome> SubTeamRoot::Name(const SubTeamKey& key, const SubTeamFormation& formation,
                                                SubTeamPrepareMessage* prepare, bool* are_all_ahead) {
  *prepare = {.team = key.first, .identity = key.second, .id = TeamId(0), .parent_epoch = EpochId(0), .runs = {}};
  if (auto refusal = maker_->Describe(formation.gathering.NodeOfRank(), prepare)) return refusal;
  // No switch of the parent is under way unseen: all members prepare a new epoch before any commits it. The promised id
  // may be later than the one that nodes have prepared, if another duplicate was formed since their joins.
  const TeamId promised = parents_->at(key.first).promised;
  *are_all_ahead = prepare->parent_epoch != EpochId(0) && promised != TeamId(0) &&
                   formation.ahead.size() + 1 == parents_->LayoutOf(key.first)->nodes.size() &&
                   std::all_of(formation.ahead.begin(), formation.ahead.end(),
                               [promised](const auto& node) { return node.second == promised; });
  const std::optional<TeamId> id = *are_all_ahead ? parents_->TakePromise(key.first) : TakeId();
  if (!id) return SubTeamOutcome::ByPlanner("no ids are left");
  prepare->id = *id;
  return std::nullopt;
}

bool SubTeamRoot::NameAgain(const SubTeamKey& key, const SubTeamFormation& formation, SubTeamPrepareMessage* prepare) {
  if (planner_->registered() || formation.is_duplicate || formation.is_positional) return false;
  *prepare = {.team = key.first, .identity = key.second, .id = TeamId(0), .parent_epoch = EpochId(0), .runs = {}};
  if (maker_->Describe(formation.gathering.NodeOfRank(), prepare)) return false;
  if (!maker_->AddAddresses(formation.addresses, prepare)) return false;
  const std::optional<TeamId> id = TakeId();
  prepare->id = id.value_or(TeamId(0));
  return id.has_value();
}

TeamId SubTeamRoot::Promise(TeamId parent) {
  const TeamId id = TakeId().value_or(TeamId(0));
  parents_->Promise(parent, id);
  return id;
}

std::optional<TeamId> SubTeamRoot::TakeId() {
  const std::optional<TeamId> id = ids_.Take();
  RequestIds();
  return id;
}

void SubTeamRoot::RequestIds() {
  if (!ids_.WantsMore() || !planner_->Has(schedule::Feature::kSubTeams)) return;
  if (parents_->empty()) return;
  ids_.Requested();
  planner_->Send(schedule::TeamIdsRequest{});
}

void SubTeamRoot::OnRegistered(const schedule::Registered& registered) {
  if (ids_.OnRegistered(registered.cluster)) parents_->DropPromises();
  RequestIds();
}

void SubTeamRoot::OnCluster(const std::string& uuid) {
  if (ids_.SetCluster(uuid)) parents_->DropPromises();
  RequestIds();
}

}  // namespace copse::daemon
