// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/sub_team_maker.h"

#include <map>
#include <utility>
#include <vector>

#include "daemon/core/team/indexed_layout.h"

namespace copse::daemon {

void SubTeamMaker::Note(const Team& team) {
  if (!parents_->contains(team.id()) || !schedule::IsSubTeam(team.layout())) return;
  const Team* const parent = teams_->Find(team.layout().parent);
  if (parent != nullptr && HaveSameMembers(*parent->shared_layout(), *team.shared_layout())) return;
  shapes_.Add(team.shared_layout(), team.plans(), parents_->at(team.id()).place);
}

std::optional<SubTeamOutcome> SubTeamMaker::Describe(const std::vector<NodeIndex>& node_of_rank,
                                                     SubTeamPrepareMessage* message) const {
  const Team* const parent = teams_->Find(message->team);
  if (parent != nullptr && node_of_rank == parent->layout().shape.node_of_rank) {
    if (!parent->ready() || parent->prepared_epoch() != EpochId(0)) {
      return SubTeamOutcome::ByPlanner("the parent is being switched to other plans");
    }
    message->parent_epoch = parent->epoch();
    return std::nullopt;
  }
  for (const NodeIndex node : node_of_rank) {
    if (message->runs.empty() || message->runs.back().node != node) message->runs.push_back({node, 0});
    ++message->runs.back().count;
  }
  if (message->runs.size() <= kRankRunsMax) return std::nullopt;
  return SubTeamOutcome::ByPlanner("the sub-team is too large for a message");
}

std::optional<SubTeamOutcome> SubTeamMaker::LikeParent(const SubTeamPrepareMessage& m, CheckedPrepare* prepare,
                                                       SharedLayout* like) const {
  const Team* const team = teams_->Find(m.team);
  if (team == nullptr || team->epoch() != m.parent_epoch || team->prepared_epoch() != EpochId(0)) {
    return SubTeamOutcome::ByPlanner("the parent is being switched to other plans");
  }
  *like = team->shared_layout();
  prepare->plans = team->plans();
  prepare->tree = parents_->at(m.team).place;
  return std::nullopt;
}

std::optional<SubTeamOutcome> SubTeamMaker::LikeEarlier(const SubTeamPrepareMessage& m, CheckedPrepare* prepare,
                                                        SharedLayout* like, uint64_t* hash) {
  const schedule::TeamLayout& parent = *parents_->LayoutOf(m.team);
  std::map<NodeIndex, NodeIndex> index_of;  // of the parent's nodes, in the new team
  std::vector<schedule::TeamNode> nodes;
  schedule::TeamShape shape;
  for (const RankRun& run : m.runs) {
    if (run.node.value() >= parent.nodes.size() || shape.node_of_rank.size() + run.count > parent.shape.size()) {
      return SubTeamOutcome{{schedule::Failure::kInternal, "the root of the team has named no nodes of it"}, false};
    }
    const auto [it, is_new] = index_of.emplace(run.node, NodeIndex(static_cast<uint32_t>(index_of.size())));
    if (is_new) nodes.push_back(parent.nodes[run.node.value()]);
    shape.node_of_rank.insert(shape.node_of_rank.end(), run.count, it->second);
  }
  shape.node_count = static_cast<uint32_t>(nodes.size());
  const KnownShapes::Known* const known = shapes_.Find(nodes, shape);
  if (known == nullptr) return SubTeamOutcome::ByPlanner("no plans are known for the sub-team's nodes and ranks");
  *like = known->layout;
  prepare->plans = known->plans;
  prepare->tree = known->tree;
  *hash = known->hash;
  return std::nullopt;
}

std::optional<SubTeamOutcome> SubTeamMaker::Make(const SubTeamPrepareMessage& m, CheckedPrepare* prepare,
                                                 uint64_t* hash) {
  SharedLayout like;  // a layout with the nodes and ranks of the team
  const bool is_duplicate = m.parent_epoch != EpochId(0);
  if (auto refusal = is_duplicate ? LikeParent(m, prepare, &like) : LikeEarlier(m, prepare, &like, hash)) {
    return refusal;
  }
  prepare->head = {.id = m.id,
                   .identity = m.identity,
                   .parent = m.team,
                   .shape = {},
                   .nodes = {},
                   .window = parents_->LayoutOf(m.team)->window};
  schedule::TeamLayout layout = prepare->head;
  layout.shape = like->layout().shape;
  layout.nodes = like->layout().nodes;
  prepare->layout = IndexLayout(std::move(layout), /*earlier=*/nullptr, like);
  prepare->epoch = EpochId(1);
  return std::nullopt;
}

}  // namespace copse::daemon
