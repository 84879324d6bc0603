// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/sub_teams.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/log.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

namespace {

// Limits the formations of a daemon, those that are over included. Beyond it the planner forms the sub-teams.
constexpr size_t kFormationsMax = 4096;
// Limits the teams whose labels came early.
constexpr size_t kEarlyTeamsMax = 256;
constexpr size_t kEarlyLabelsMax = 4096;
// A parent that was left is kept for others' messages for so long, the last ones only.
constexpr size_t kLeftMax = 64;
// From Prepare to the last reply.
constexpr absl::Duration kPrepareTimeout = absl::Seconds(10);
// A daemon that hears nothing from the root ends the formation this long after the root should have.
constexpr absl::Duration kRootGrace = absl::Seconds(10);

FailureReport ByPlanner(const std::string& why) { return {Failure::kNoResource, why}; }

}  // namespace

// --- Parents ---

void SubTeams::AddParent(const Team& team, const TreePlace& tree) {
  parents_[team.id()] = {.place = tree, .self = team.members().self(), .layout = nullptr, .left = {}};
  RequestIds();
}

void SubTeams::ParentLeft(const Team& team) {
  std::erase(unreported_, team.id());
  const auto it = parents_.find(team.id());
  if (it == parents_.end()) return;
  if (team.layout().nodes.size() == 1) {
    parents_.erase(it);
    return;
  }
  it->second.layout = team.shared_layout();
  it->second.left = parts_->clock->Now();
  left_.push_back(team.id());
  if (left_.size() <= kLeftMax) return;
  parents_.erase(left_.front());
  left_.pop_front();
}

void SubTeams::ParentBroken(TeamId team, const FailureReport& why) {
  std::erase(unreported_, team);
  if (parents_.erase(team) == 0) return;
  std::vector<Key> keys;
  for (auto it = states_.lower_bound({team, {}}); it != states_.end() && it->first.first == team; ++it) {
    keys.push_back(it->first);
  }
  for (const Key& key : keys) {
    auto node = states_.extract(key);
    Formation& formation = node.mapped();
    // Members that have had the decision run the team, whose neighbors may be no neighbors in the parent.
    BreakAtNeighbors(formation, why);
    if (Team* const prepared = teams_->Find(formation.id)) prepared->Break(why);
    Release(&formation);
  }
}

void SubTeams::Forget(TeamId team) {
  parents_.erase(team);
  prepared_.erase(team);
}

void SubTeams::NoteFormed(const Team& team) {
  const auto it = parents_.find(team.id());
  if (it == parents_.end() || !schedule::IsSubTeam(team.layout())) return;
  const Team* const parent = teams_->Find(team.layout().parent);
  if (parent != nullptr && HaveSameMembers(*parent->shared_layout(), *team.shared_layout())) return;
  shapes_.Add(team.shared_layout(), team.plans(), it->second.place);
}

const schedule::TeamLayout* SubTeams::LayoutOf(TeamId parent) const {
  const auto it = parents_.find(parent);
  if (it == parents_.end()) return nullptr;
  if (it->second.layout != nullptr) return &it->second.layout->layout();
  const Team* const team = teams_->Find(parent);
  return team == nullptr ? nullptr : &team->layout();
}

void SubTeams::SendTo(TeamId parent, NodeIndex node, const PeerMessage& message) {
  const schedule::TeamLayout* const layout = LayoutOf(parent);
  if (layout == nullptr) return;
  // The edge may have ended with an earlier epoch of the parent, or because the ranks here have left it.
  const schedule::TeamNode& peer = layout->nodes[node.value()];
  if (!link_->AcquireNeighbor(peer).ok()) return;
  link_->SendToPeer(peer.incarnation, message);
  link_->ReleaseNeighbor(peer.incarnation);
}

void SubTeams::SendUp(const Key& key, const PeerMessage& message) {
  const auto it = parents_.find(key.first);
  if (it != parents_.end() && it->second.place.up) SendTo(key.first, *it->second.place.up, message);
}

// --- Joins ---

bool SubTeams::Takes(TeamId parent) const {
  const auto it = parents_.find(parent);
  return it != parents_.end() && it->second.layout == nullptr;
}

SubTeams::Formation* SubTeams::Begin(const Key& key) {
  const auto it = states_.find(key);
  if (it != states_.end()) return &it->second;
  if (states_.size() >= kFormationsMax) return nullptr;
  Formation& formation = states_[key];
  formation.since = parts_->clock->Now();
  return &formation;
}

void SubTeams::Join(uint64_t request, TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size) {
  const Key key{parent, identity};
  const Team& team = *teams_->Find(parent);
  if (const auto it = states_.find(key); it != states_.end() && it->second.state == State::kOver) {
    if (it->second.passed.insert(rank).second) return End(request, it->second.outcome);
    states_.erase(it);  // the ranks try again
  }
  Formation* const formation = Begin(key);
  if (formation == nullptr) return End(request, {ByPlanner("too many sub-teams are forming"), true});
  const auto [claimed, is_new] = formation->own.emplace(rank, request);
  if (!is_new || formation->state != State::kGathering) {
    const std::string& node = parts_->options->node.name;
    const FailureReport why{Failure::kMismatch,
                            absl::StrCat("rank ", rank.value(), " claimed twice on node ", node,
                                         " (team=", schedule::DescribeTeam(identity), ")"),
                            FailureCause::kUnknown, node, rank};
    if (is_new) formation->own.erase(claimed);
    End(request, {why, false});
    return Refuse(parent, identity, rank, size, why);
  }
  formation->size = size;
  formation->unsent.insert(rank);
  formation->passed.insert(rank);
  // All ranks of this node are in a sub-team that has as many as its parent.
  const bool more = size == team.layout().shape.size() && formation->own.size() < team.members().ranks().size();
  if (!more) Flush(key, formation);
}

void SubTeams::Flush(const Key& key, Formation* formation) {
  if (formation->unsent.empty()) return;
  const std::set<Rank> unsent = std::exchange(formation->unsent, {});
  const std::vector<Rank> ranks(unsent.begin(), unsent.end());
  const NodeIndex self = parents_.at(key.first).self;
  if (IsRoot(key)) return AddAtRoot(key, self, ranks, formation->size);
  for (size_t first = 0; first < ranks.size(); first += kRanksPerJoinMax) {
    SubTeamJoinMessage join{
        .team = key.first, .identity = key.second, .size = formation->size, .node = self, .ranks = {}, .why = {}};
    join.ranks.assign(ranks.begin() + static_cast<ptrdiff_t>(first),
                      ranks.begin() + static_cast<ptrdiff_t>(std::min<size_t>(first + kRanksPerJoinMax, ranks.size())));
    SendUp(key, join);
  }
}

void SubTeams::Withdraw(uint64_t request, FailureReport why) {
  for (auto& [key, formation] : states_) {
    for (const auto& [rank, its] : formation.own) {
      if (its != request) continue;
      const Rank gone = rank;
      const Key its_key = key;
      formation.own.erase(gone);
      formation.unsent.erase(gone);
      if (why.failure == Failure::kNone) why.failure = Failure::kMemberLost;
      why.text = absl::StrCat("rank ", gone.value(), " on node ", parts_->options->node.name, " went away: ", why.text);
      if (why.node.empty()) {
        why.node = parts_->options->node.name;
        why.rank = gone;
      }
      return Refuse(its_key.first, its_key.second, gone, formation.size, why);
    }
  }
}

void SubTeams::Refuse(TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size,
                      const FailureReport& why) {
  const Key key{parent, identity};
  Formation* const formation = parents_.contains(parent) ? Begin(key) : nullptr;
  if (formation == nullptr || formation->state == State::kOver) return;
  if (IsRoot(key)) return EndUnformed(key, {why, false});
  if (formation->state == State::kPreparing) return Fail(key, {why, false});
  SendUp(key, SubTeamJoinMessage{.team = parent,
                                 .identity = identity,
                                 .size = size,
                                 .node = parents_.at(parent).self,
                                 .ranks = {rank},
                                 .why = why});
}

void SubTeams::On(NodeIndex from, const SubTeamJoinMessage& m) {
  const Key key{m.team, m.identity};
  const bool joins = m.why.failure == Failure::kNone;
  if (const auto it = states_.find(key); it != states_.end() && it->second.state == State::kOver) {
    Formation& over = it->second;
    const bool is_late =
        std::any_of(m.ranks.begin(), m.ranks.end(), [&](Rank rank) { return over.passed.insert(rank).second; });
    if (is_late || !joins) {
      return SendTo(m.team, from,
                    SubTeamDecisionMessage{.team = m.team,
                                           .identity = m.identity,
                                           .id = TeamId(0),
                                           .why = over.outcome.why,
                                           .again = over.outcome.again});
    }
    states_.erase(it);  // the ranks try again
  }
  Formation* const formation = Begin(key);
  if (formation == nullptr) {
    return SendTo(m.team, from,
                  SubTeamDecisionMessage{.team = m.team,
                                         .identity = m.identity,
                                         .id = TeamId(0),
                                         .why = ByPlanner("too many sub-teams are forming"),
                                         .again = true});
  }
  if (formation->state == State::kPreparing) {
    if (!joins) Fail(key, {m.why, false});
    return;
  }
  formation->below.insert(from);
  formation->passed.insert(m.ranks.begin(), m.ranks.end());
  if (!IsRoot(key)) return SendUp(key, m);
  if (!joins) return EndUnformed(key, {m.why, false});
  AddAtRoot(key, m.node, m.ranks, m.size);
}

// --- The root ---

void SubTeams::AddAtRoot(const Key& key, NodeIndex node, const std::vector<Rank>& ranks, uint32_t size) {
  const schedule::TeamLayout& parent = *LayoutOf(key.first);
  FailureReport why;
  if (size == 0 || size > parent.shape.size()) {
    why = {.failure = Failure::kInvalidArgument,
           .text = absl::StrCat("size of a sub-team: ", size, " (limit 1 to ", parent.shape.size(), ")"),
           .limit = parent.shape.size()};
  } else {
    why = states_.at(key).gathering.Add(node, parent.nodes[node.value()].name, ranks, size);
  }
  if (why.failure != Failure::kNone) {
    absl::StrAppend(&why.text, " (team=", schedule::DescribeTeam(key.second), ")");
    return EndUnformed(key, {why, false});
  }
  if (states_.at(key).gathering.complete()) Start(key);
}

void SubTeams::Start(const Key& key) {
  Formation& formation = states_.at(key);
  const schedule::TeamLayout& parent = *LayoutOf(key.first);
  const Team* const team = teams_->Find(key.first);
  const std::vector<NodeIndex> node_of_rank = formation.gathering.NodeOfRank();
  SubTeamPrepareMessage prepare{
      .team = key.first, .identity = key.second, .id = TeamId(0), .parent_epoch = EpochId(0), .runs = {}};
  if (node_of_rank == parent.shape.node_of_rank && team != nullptr) {
    if (!team->ready() || team->prepared_epoch() != EpochId(0)) {
      return EndUnformed(key, {ByPlanner("the parent is being switched to other plans"), true});
    }
    prepare.parent_epoch = team->epoch();
  } else {
    for (const NodeIndex node : node_of_rank) {
      if (prepare.runs.empty() || prepare.runs.back().node != node) prepare.runs.push_back({node, 0});
      ++prepare.runs.back().count;
    }
    if (prepare.runs.size() > kRankRunsMax) {
      return EndUnformed(key, {ByPlanner("the sub-team is too large for a message"), true});
    }
  }
  const std::optional<TeamId> id = ids_.Take();
  RequestIds();
  if (!id) return EndUnformed(key, {ByPlanner("no ids are left"), true});
  prepare.id = *id;
  Prepare(key, prepare);
}

// --- Preparation ---

void SubTeams::On(NodeIndex from, const SubTeamPrepareMessage& m) {
  const Key key{m.team, m.identity};
  if (parents_.at(m.team).place.up != from || m.id == TeamId(0)) return;
  const auto it = states_.find(key);
  if (it == states_.end() || it->second.state == State::kOver) {
    return SendUp(key,
                  SubTeamReplyMessage{
                      .team = m.team, .id = m.id, .why = ByPlanner("the joins of a node are gone"), .again = true});
  }
  if (it->second.state == State::kGathering) Prepare(key, m);
}

void SubTeams::Prepare(const Key& key, const SubTeamPrepareMessage& m) {
  Formation& formation = states_.at(key);
  formation.state = State::kPreparing;
  formation.since = parts_->clock->Now();
  formation.id = m.id;
  formation.unanswered = formation.below;
  forming_.emplace(m.id, key);
  for (const NodeIndex node : formation.below) SendTo(key.first, node, m);
  if (!formation.own.empty()) {
    if (const std::optional<Outcome> refusal = PrepareHere(key, &formation, m)) return Fail(key, *refusal);
  }
  AnswerIfDone(key);
}

std::optional<SubTeams::Outcome> SubTeams::MakeTeam(const Key& key, const SubTeamPrepareMessage& m,
                                                    CheckedPrepare* prepare, uint64_t* hash) {
  const schedule::TeamLayout& parent = *LayoutOf(key.first);
  SharedLayout like;  // a layout with the nodes and ranks of the team
  if (m.parent_epoch != EpochId(0)) {
    const Team* const team = teams_->Find(key.first);
    if (team == nullptr || team->epoch() != m.parent_epoch || team->prepared_epoch() != EpochId(0)) {
      return Outcome{ByPlanner("the parent is being switched to other plans"), true};
    }
    like = team->shared_layout();
    prepare->plans = team->plans();
    prepare->tree = parents_.at(key.first).place;
  } else {
    std::map<NodeIndex, NodeIndex> index_of;  // of the parent's nodes, in the new team
    std::vector<schedule::TeamNode> nodes;
    schedule::TeamShape shape;
    for (const RankRun& run : m.runs) {
      if (run.node.value() >= parent.nodes.size() || shape.node_of_rank.size() + run.count > parent.shape.size()) {
        return Outcome{{Failure::kInternal, "the root of the team has named no nodes of it"}, false};
      }
      const auto [it, is_new] = index_of.emplace(run.node, NodeIndex(static_cast<uint32_t>(index_of.size())));
      if (is_new) nodes.push_back(parent.nodes[run.node.value()]);
      shape.node_of_rank.insert(shape.node_of_rank.end(), run.count, it->second);
    }
    shape.node_count = static_cast<uint32_t>(nodes.size());
    const KnownShapes::Known* const known = shapes_.Find(nodes, shape);
    if (known == nullptr) return Outcome{ByPlanner("no plans are known for the sub-team's nodes and ranks"), true};
    like = known->layout;
    prepare->plans = known->plans;
    prepare->tree = known->tree;
    *hash = known->hash;
  }
  prepare->head = {
      .id = m.id, .identity = key.second, .parent = key.first, .shape = {}, .nodes = {}, .window = parent.window};
  schedule::TeamLayout layout = prepare->head;
  layout.shape = like->layout().shape;
  layout.nodes = like->layout().nodes;
  prepare->layout = IndexLayout(std::move(layout), /*earlier=*/nullptr, like);
  prepare->epoch = EpochId(1);
  return std::nullopt;
}

std::optional<SubTeams::Outcome> SubTeams::PrepareHere(const Key& key, Formation* formation,
                                                       const SubTeamPrepareMessage& m) {
  CheckedPrepare prepare;
  if (const auto outcome = MakeTeam(key, m, &prepare, &formation->plans)) return outcome;
  const schedule::TeamLayout& layout = (*prepare.layout)->layout();
  const std::string& name = parts_->options->node.name;
  const std::optional<NodeIndex> self = (*prepare.layout)->NodeOf(parts_->options->node.incarnation);
  if (!self) return Outcome{{Failure::kInternal, "the root of the team has not named this node"}, false};
  for (const Rank rank : (*prepare.layout)->shape().RanksOf(*self)) {
    const auto join = formation->own.find(rank);
    if (join == formation->own.end()) {
      return Outcome{{Failure::kMemberLost,
                      absl::StrCat("node ", name, " refused: the process of rank ", rank.value(), " is gone"),
                      FailureCause::kUnknown, name, rank},
                     false};
    }
    prepare.requests.emplace_back(join->second, join->first);
  }
  const bool is_duplicate = m.parent_epoch != EpochId(0);
  const PortEdges* const like = is_duplicate ? teams_->Find(key.first)->LabeledEdges() : nullptr;
  if (is_duplicate && like == nullptr) return Outcome{ByPlanner("the parent's labels are not known"), true};
  prepared_.insert(m.id);
  const schedule::PrepareReply reply = host_->PrepareSubTeam(prepare, like);
  if (!reply.accepted) {
    Forget(m.id);
    FailureReport why = reply.why;
    const std::string who = absl::StrCat("node ", name);
    why.text = absl::StrCat(who, " refused: ", absl::StripPrefix(reply.why.text, absl::StrCat(who, ": ")));
    if (why.node.empty()) why.node = name;
    // A label of the duplicate may be in use: the planner's team has other ones.
    return Outcome{why, is_duplicate && why.failure == Failure::kInternal};
  }
  for (const schedule::EdgeLabel& label : reply.incoming) {
    const schedule::TeamNode& node = layout.nodes[label.neighbor.value()];
    if (const absl::Status connected = link_->AcquireNeighbor(node); !connected.ok()) {
      return Outcome{ByPlanner(absl::StrCat("node ", name, ": no connection to node ", node.name)), true};
    }
    formation->neighbors.push_back(node);
    if (is_duplicate) continue;
    formation->unlabeled.emplace(node.incarnation, label.neighbor);
    link_->SendToPeer(node.incarnation, SubTeamLabelMessage{.team = key.first, .id = m.id, .label = label.label});
  }
  if (is_duplicate) {
    formation->labels = like->RemoteLabelsLike(m.id);
    return std::nullopt;
  }
  const auto early = early_labels_.find(m.id);
  if (early == early_labels_.end()) return std::nullopt;
  for (const auto& [from, label] : early->second) {
    const auto node = formation->unlabeled.extract(from);
    if (!node.empty()) formation->labels.push_back({node.mapped(), label});
  }
  early_labels_.erase(early);
  return std::nullopt;
}

void SubTeams::OnLabel(Incarnation from, const SubTeamLabelMessage& m) {
  const auto it = forming_.find(m.id);
  Formation* const formation = it == forming_.end() ? nullptr : &states_.at(it->second);
  if (formation == nullptr) {
    const auto [early, is_new] = early_labels_.try_emplace(m.id);
    if (early->second.size() < kEarlyLabelsMax) early->second.emplace_back(from, m.label);
    if (!is_new) return;
    early_order_.push_back(m.id);
    if (early_order_.size() <= kEarlyTeamsMax) return;
    early_labels_.erase(early_order_.front());
    early_order_.pop_front();
    return;
  }
  const auto node = formation->unlabeled.extract(from);
  if (node.empty()) return;
  formation->labels.push_back({node.mapped(), m.label});
  AnswerIfDone(Key(it->second));
}

void SubTeams::AnswerIfDone(const Key& key) {
  Formation& formation = states_.at(key);
  if (!formation.unanswered.empty() || !formation.unlabeled.empty() || formation.has_answered) return;
  if (IsRoot(key)) return EndFormed(key);
  formation.has_answered = true;
  SendUp(key, SubTeamReplyMessage{
                  .team = key.first, .id = formation.id, .why = {}, .again = false, .plans = formation.plans});
}

void SubTeams::On(NodeIndex from, const SubTeamReplyMessage& m) {
  const auto it = forming_.find(m.id);
  if (it == forming_.end() || it->second.first != m.team) return;
  const Key key = it->second;
  Formation& formation = states_.at(key);
  if (!formation.below.contains(from)) return;
  if (m.why.failure != Failure::kNone) return Fail(key, {m.why, m.again});
  if (m.plans != 0 && formation.plans != 0 && m.plans != formation.plans) {
    return Fail(key, {ByPlanner("nodes know different plans for the sub-team"), true});
  }
  if (formation.plans == 0) formation.plans = m.plans;
  formation.unanswered.erase(from);
  AnswerIfDone(key);
}

void SubTeams::Fail(const Key& key, const Outcome& outcome) {
  if (IsRoot(key)) return EndUnformed(key, outcome);
  Formation& formation = states_.at(key);
  formation.has_answered = true;
  SendUp(key, SubTeamReplyMessage{.team = key.first, .id = formation.id, .why = outcome.why, .again = outcome.again});
}

// --- The decision ---

void SubTeams::On(NodeIndex from, const SubTeamDecisionMessage& m) {
  const Key key{m.team, m.identity};
  const auto it = states_.find(key);
  if (parents_.at(m.team).place.up != from || it == states_.end() || it->second.state == State::kOver) return;
  if (m.why.failure != Failure::kNone) return EndUnformed(key, {m.why, m.again});
  if (it->second.state == State::kPreparing && it->second.id == m.id) EndFormed(key);
}

void SubTeams::End(uint64_t request, const Outcome& outcome) {
  if (outcome.again) {
    formations_->PassToPlanner(request);
  } else {
    formations_->FailJoin(request, outcome.why);
  }
}

void SubTeams::Release(Formation* formation) {
  for (const schedule::TeamNode& node : std::exchange(formation->neighbors, {})) {
    link_->ReleaseNeighbor(node.incarnation);
  }
  forming_.erase(formation->id);
  early_labels_.erase(formation->id);
}

void SubTeams::EndUnformed(const Key& key, const Outcome& outcome) {
  Formation& formation = states_.at(key);
  const SubTeamDecisionMessage decision{
      .team = key.first, .identity = key.second, .id = formation.id, .why = outcome.why, .again = outcome.again};
  for (const NodeIndex node : formation.below) SendTo(key.first, node, decision);
  Release(&formation);
  const std::map<Rank, uint64_t> own = std::move(formation.own);
  const TeamId id = formation.id;
  formation = {
      .state = State::kOver, .since = parts_->clock->Now(), .passed = std::move(formation.passed), .outcome = outcome};
  if (prepared_.contains(id)) host_->DropSubTeam(id);
  for (const auto& [rank, request] : own) End(request, outcome);
  if (outcome.again) ++passed_on_;
}

void SubTeams::EndFormed(const Key& key) {
  Formation formation = std::move(states_.extract(key).mapped());
  const SubTeamDecisionMessage decision{
      .team = key.first, .identity = key.second, .id = formation.id, .why = {}, .again = false};
  for (const NodeIndex node : formation.below) SendTo(key.first, node, decision);
  forming_.erase(formation.id);
  if (const Team* const team = teams_->Find(formation.id); team != nullptr && !team->broken()) {
    ++formed_;
    host_->CommitSubTeam(formation.id, formation.labels);
  }
  Release(&formation);
}

void SubTeams::CommittedByNeighbor(const Team& team) {
  const auto it = forming_.find(team.id());
  if (it == forming_.end()) return;
  Formation formation = std::move(states_.extract(it->second).mapped());
  const SubTeamDecisionMessage decision{
      .team = it->second.first, .identity = it->second.second, .id = formation.id, .why = {}, .again = false};
  for (const NodeIndex node : formation.below) SendTo(decision.team, node, decision);
  ++formed_;
  Release(&formation);
  NoteCommitted(team);
}

void SubTeams::BreakAtNeighbors(const Formation& formation, const FailureReport& why) {
  for (const schedule::TeamNode& node : formation.neighbors) {
    link_->SendToPeer(node.incarnation, BreakMessage{.team = formation.id, .why = why});
  }
}

void SubTeams::Broken(TeamId team, const FailureReport& why) {
  const auto it = forming_.find(team);
  if (it == forming_.end()) return;
  const Key key = it->second;
  BreakAtNeighbors(states_.at(key), why);
  Fail(key, {why, false});
}

bool SubTeams::OnPeerMessage(Incarnation from, const PeerMessage& message) {
  if (const auto* label = std::get_if<SubTeamLabelMessage>(&message)) {
    OnLabel(from, *label);
    return true;
  }
  return std::visit(
      [&](const auto& m) {
        if constexpr (requires { this->On(NodeIndex(0), m); }) {
          const schedule::TeamLayout* const layout = LayoutOf(m.team);
          if (layout == nullptr) {
            // A daemon whose ranks have long left the parent cannot pass joins on.
            if constexpr (requires { m.ranks; }) {
              link_->SendToPeer(from, SubTeamDecisionMessage{.team = m.team,
                                                             .identity = m.identity,
                                                             .id = TeamId(0),
                                                             .why = ByPlanner("a node has left the parent"),
                                                             .again = true});
            }
            return true;
          }
          const auto node = std::find_if(layout->nodes.begin(), layout->nodes.end(),
                                         [&](const schedule::TeamNode& member) { return member.incarnation == from; });
          if (node == layout->nodes.end()) return true;
          if constexpr (requires { m.node; }) {
            if (m.node.value() >= layout->nodes.size()) return true;
          }
          On(NodeIndex(static_cast<uint32_t>(node - layout->nodes.begin())), m);
          return true;
        } else {
          return false;
        }
      },
      message);
}

// --- The planner ---

void SubTeams::RequestIds() {
  if (!ids_.WantsMore() || !parts_->planner->Has(schedule::Feature::kSubTeams)) return;
  const bool is_root = std::any_of(parents_.begin(), parents_.end(),
                                   [](const auto& entry) { return !entry.second.place.up.has_value(); });
  if (!is_root) return;
  ids_.Requested();
  parts_->planner->Send(schedule::TeamIdsRequest{});
}

void SubTeams::OnRegistered(const schedule::Registered& registered) {
  // Another cluster may have other teams with these ids.
  if (schedule::IsOtherCluster(registered.cluster, cluster_)) ids_ = {};
  if (!registered.cluster.empty()) cluster_ = registered.cluster;
  ids_.DropRequest();
  RequestIds();
  ReportAll();
}

void SubTeams::NoteCommitted(const Team& team) {
  prepared_.erase(team.id());
  unreported_.push_back(team.id());
}

bool SubTeams::IsUnreported(TeamId team) const {
  return parts_->planner->registered() && std::find(unreported_.begin(), unreported_.end(), team) != unreported_.end();
}

void SubTeams::ReportFormed(TeamId team) {
  // A team's parent, if it is unreported, too, stands before it.
  if (IsUnreported(team)) ReportAll();
}

void SubTeams::ReportAll() {
  if (!parts_->planner->registered()) return;
  const std::vector<TeamId> teams = std::exchange(unreported_, {});
  if (!parts_->planner->Has(schedule::Feature::kSubTeams)) return;
  for (const TeamId id : teams) {
    if (const Team* const team = teams_->Find(id)) Report(*team);
  }
}

void SubTeams::Report(const Team& team) {
  const schedule::TeamLayout& layout = team.layout();
  schedule::TeamFormed formed{.layout = {.id = layout.id,
                                         .identity = layout.identity,
                                         .parent = layout.parent,
                                         .shape = {},
                                         .nodes = {},
                                         .window = layout.window},
                              .parent_epoch = EpochId(0),
                              .plans = {}};
  const Team* const parent = teams_->Find(layout.parent);
  if (parent != nullptr && parent->plans() == team.plans() &&
      HaveSameMembers(*parent->shared_layout(), *team.shared_layout())) {
    formed.parent_epoch = parent->epoch();
  } else {
    formed.layout.shape = layout.shape;
    formed.layout.nodes = layout.nodes;
    if (team.members().self() == NodeIndex(0)) formed.plans = *team.EncodedPlans();
  }
  parts_->planner->Send(formed);
}

// --- Time, and what others see ---

void SubTeams::Tick() {
  ReportAll();
  const absl::Time now = parts_->clock->Now();
  const absl::Duration timeout = parts_->options->formation_timeout;
  std::vector<Key> keys;
  for (const auto& [key, formation] : states_) keys.push_back(key);
  for (const Key& key : keys) {
    const auto it = states_.find(key);
    if (it == states_.end()) continue;
    Formation& formation = it->second;
    const absl::Duration age = now - formation.since;
    if (formation.state == State::kOver) {
      if (age >= timeout) states_.erase(it);
      continue;
    }
    if (!parents_.contains(key.first)) {
      const Outcome outcome{ByPlanner("the node has left the parent"), true};
      BreakAtNeighbors(formation, outcome.why);  // the root may have decided otherwise
      EndUnformed(key, outcome);
      continue;
    }
    if (formation.state == State::kPreparing) {
      if (age < kPrepareTimeout || !IsRoot(key)) continue;
      std::vector<std::string> silent;
      for (const NodeIndex node : formation.unanswered) silent.push_back(LayoutOf(key.first)->nodes[node.value()].name);
      EndUnformed(key, {{.failure = Failure::kTimedOut,
                         .text = absl::StrCat("no answer to prepare within ", absl::FormatDuration(kPrepareTimeout),
                                              " from node ", absl::StrJoin(silent, ", ")),
                         .cause = FailureCause::kNotFormedInTime,
                         .node = silent.size() == 1 ? silent.front() : "",
                         .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(kPrepareTimeout))},
                        false});
      continue;
    }
    Flush(key, &formation);
    const auto still = states_.find(key);
    if (still == states_.end() || still->second.state != State::kGathering) continue;
    if (age < (IsRoot(key) ? timeout : timeout + kRootGrace)) continue;
    FailureReport why = still->second.gathering.Late(timeout);
    if (!IsRoot(key)) why.text = absl::StrCat("no decision about the team within ", absl::FormatDuration(timeout));
    absl::StrAppend(&why.text, " (team=", schedule::DescribeTeam(key.second), ")");
    EndUnformed(key, {why, false});
  }
  while (!left_.empty()) {
    const auto parent = parents_.find(left_.front());
    if (parent != parents_.end() && now - parent->second.left < timeout) break;
    if (parent != parents_.end()) parents_.erase(parent);
    left_.pop_front();
  }
}

void SubTeams::AppendStatus(schedule::DaemonStatus* status) const {
  status->counters["daemon.sub_teams.formed"] = formed_;
  status->counters["daemon.sub_teams.by_planner"] = passed_on_;
}

void SubTeams::CheckInvariants() const {
  for (const auto& [id, key] : forming_) {
    const auto it = states_.find(key);
    CHECK(it != states_.end() && it->second.state == State::kPreparing && it->second.id == id);
  }
  for (const auto& [key, formation] : states_) {
    CHECK(formation.state != State::kPreparing || forming_.contains(formation.id));
    CHECK(formation.state == State::kPreparing || formation.neighbors.empty());
    CHECK(formation.state != State::kOver || formation.own.empty());
  }
  for (const auto& [id, parent] : parents_) CHECK(parent.layout != nullptr || teams_->Find(id) != nullptr);
}

}  // namespace copse::daemon
