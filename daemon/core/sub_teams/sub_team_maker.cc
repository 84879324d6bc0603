// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/sub_team_maker.h"

#include <cstddef>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "daemon/core/team/sub_team_tree.h"
#include "daemon/core/team/verified_plans.h"
#include "schedule/positional_plans.h"
#include "schedule/verify.h"

namespace copse::daemon {
namespace {

SubTeamOutcome Misnamed() {
  return {{schedule::Failure::kInternal, "the root of the team has named no nodes of it"}, false};
}

}  // namespace

void SubTeamMaker::Note(const Team& team) {
  if (!parents_->contains(team.id()) || !schedule::IsSubTeam(team.layout())) return;
  const Team* const parent = teams_->Find(team.layout().parent);
  if (parent != nullptr && HaveSameMembers(*parent->shared_layout(), *team.shared_layout())) return;
  // The planner makes better ones when it is back.
  if (team.layout().nodes.size() > 1 && schedule::IsPositional(team.plans()->plans().front())) return;
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

bool SubTeamMaker::AddAddresses(const std::map<NodeIndex, std::string>& addresses,
                                SubTeamPrepareMessage* message) const {
  if (message->runs.size() > kAddressedRunsMax) return false;
  const schedule::TeamLayout& parent = *parents_->LayoutOf(message->team);
  std::set<NodeIndex> named;
  size_t bytes = 0;
  for (const RankRun& run : message->runs) {
    if (!named.insert(run.node).second) continue;
    const auto joined = addresses.find(run.node);
    const std::string& address =
        joined != addresses.end() ? joined->second : parent.nodes[run.node.value()].worker_address;
    if (address.empty()) return false;
    message->addresses.push_back(address);
    bytes += address.size();
  }
  return bytes <= kPeerAddressesBytesMax;
}

std::optional<SubTeamOutcome> SubTeamMaker::MembersOf(const SubTeamPrepareMessage& m,
                                                      const schedule::TeamLayout& parent, Members* members) {
  schedule::TeamShape& shape = members->shape;
  for (const RankRun& run : m.runs) {
    if (run.node.value() >= parent.nodes.size() || shape.node_of_rank.size() + run.count > parent.shape.size()) {
      return Misnamed();
    }
    const NodeIndex next(static_cast<uint32_t>(members->nodes.size()));
    const auto [it, is_new] = members->index_of.emplace(run.node, next);
    if (is_new) members->nodes.push_back(parent.nodes[run.node.value()]);
    shape.node_of_rank.insert(shape.node_of_rank.end(), run.count, it->second);
  }
  shape.node_count = static_cast<uint32_t>(members->nodes.size());
  return std::nullopt;
}

std::optional<SubTeamOutcome> SubTeamMaker::ByRuns(const SubTeamPrepareMessage& m, CheckedPrepare* prepare,
                                                   SharedLayout* like, uint64_t* hash) {
  Members members;
  if (auto refusal = MembersOf(m, *parents_->LayoutOf(m.team), &members)) return refusal;
  if (!m.addresses.empty()) return ByPosition(m, std::move(members), prepare, like, hash);
  const KnownShapes::Known* const known = shapes_.Find(members.nodes, members.shape);
  if (known == nullptr && members.nodes.size() == 1) return ByPosition(m, std::move(members), prepare, like, hash);
  if (known == nullptr) return SubTeamOutcome::ByPlanner("no plans are known for the sub-team's nodes and ranks");
  *like = known->layout;
  prepare->plans = known->plans;
  prepare->tree = known->tree;
  *hash = known->hash;
  return std::nullopt;
}

std::optional<SubTeamOutcome> SubTeamMaker::ByPosition(const SubTeamPrepareMessage& m, Members members,
                                                       CheckedPrepare* prepare, SharedLayout* like,
                                                       uint64_t* hash) const {
  const auto self = members.index_of.find(parents_->at(m.team).self);
  const bool has_addresses = m.addresses.size() == members.nodes.size() || members.nodes.size() == 1;
  if (self == members.index_of.end() || !has_addresses) return Misnamed();
  std::vector<uint32_t> order = {0};  // the first rank's node, then as in the parent, whose neighbors are near
  for (const auto& [of_parent, index] : members.index_of) {
    if (index != NodeIndex(0)) order.push_back(index.value());
  }
  std::vector<schedule::Plan> plans = schedule::MakePositionalPlans(order, m.id);
  const absl::Status verified = schedule::VerifyPlans(plans, members.shape);
  if (!verified.ok()) return SubTeamOutcome::ByPlanner(std::string(verified.message()));
  for (const uint32_t neighbor : plans.front().neighbors[self->second.value()]) {
    std::string& address = members.nodes[neighbor].worker_address;
    if (address.empty()) address = m.addresses[neighbor];
  }
  schedule::TeamLayout layout;
  layout.shape = std::move(members.shape);
  layout.nodes = std::move(members.nodes);
  prepare->tree = PlaceInTree(plans, layout.shape.node_count, self->second);
  *like = IndexLayout(std::move(layout));
  const auto made = std::make_shared<const VerifiedPlans>(std::move(plans), (*like)->shape(), self->second);
  *hash = HashOf(*made);
  prepare->plans = made;
  return std::nullopt;
}

std::optional<SubTeamOutcome> SubTeamMaker::Make(const SubTeamPrepareMessage& m, CheckedPrepare* prepare,
                                                 uint64_t* hash) {
  SharedLayout like;  // a layout with the nodes and ranks of the team
  const bool is_duplicate = m.parent_epoch != EpochId(0);
  if (auto refusal = is_duplicate ? LikeParent(m, prepare, &like) : ByRuns(m, prepare, &like, hash)) {
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
