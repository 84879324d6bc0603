// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/sub_teams.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

// --- Parents ---

void SubTeams::AddParent(const Team& team, const TreePlace& tree) {
  parents_.Add(team, tree);
  if (parents_.IsRoot(team.id())) root_.RequestIds();  // the others need none before the first sub-team: Tick does it
}

void SubTeams::ParentBroken(TeamId team, const FailureReport& why) {
  reports_.Drop(team);
  if (!parents_.Erase(team)) return;
  for (const Key& key : table_.KeysOf(team)) {
    Formation formation = table_.Take(key);
    // Members that have had the decision run the team, whose neighbors may be no neighbors in the parent.
    local_.BreakAtNeighbors(formation, why);
    if (Team* const prepared = teams_->Find(formation.id)) prepared->Break(why);
    local_.Release(&formation);
  }
}

void SubTeams::Forget(TeamId team) {
  parents_.Erase(team);
  local_.Forget(team);
}

// --- Joins ---

void SubTeams::Join(uint64_t request, TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size) {
  const Key key{parent, identity};
  const Team& team = *teams_->Find(parent);
  if (const Outcome* const over = table_.OutcomeFor(key, {rank}, /*joins=*/true)) return End(request, *over);
  Formation* const formation = table_.Begin(key);
  if (formation == nullptr) return End(request, Outcome::ByPlanner("too many sub-teams are forming"));
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
  if (parents_.IsRoot(key.first)) {
    formation->addresses[self] = parts_->options->node.worker_address;
    return AddAtRoot(key, self, ranks, formation->size);
  }
  const bool is_ahead = promised_.Prepare(key, formation);
  for (size_t first = 0; first < ranks.size(); first += kRanksPerJoinMax) {
    SubTeamJoinMessage join{.team = key.first,
                            .identity = key.second,
                            .size = formation->size,
                            .node = self,
                            .ranks = {},
                            .why = {},
                            .prepared = is_ahead ? formation->id : TeamId(0),
                            .parent_epoch = is_ahead ? teams_->Find(key.first)->epoch() : EpochId(0),
                            .address = is_ahead ? "" : parts_->options->node.worker_address};
    join.ranks.assign(ranks.begin() + static_cast<ptrdiff_t>(first),
                      ranks.begin() + static_cast<ptrdiff_t>(std::min<size_t>(first + kRanksPerJoinMax, ranks.size())));
    parents_.SendUp(key.first, join);
  }
}

void SubTeams::Withdraw(uint64_t request, FailureReport why) {
  const auto join = table_.FindJoin(request);
  if (!join) return;
  const auto& [key, rank] = *join;
  Formation& formation = table_.at(key);
  formation.own.erase(rank);
  formation.unsent.erase(rank);
  const std::string& node = parts_->options->node.name;
  if (why.failure == Failure::kNone) why.failure = Failure::kMemberLost;
  why.text = absl::StrCat("rank ", rank.value(), " on node ", node, " went away: ", why.text);
  if (why.node.empty()) {
    why.node = node;
    why.rank = rank;
  }
  Refuse(key.first, key.second, rank, formation.size, why);
}

void SubTeams::Refuse(TeamId parent, const schedule::TeamIdentity& identity, Rank rank, uint32_t size,
                      const FailureReport& why) {
  const Key key{parent, identity};
  Formation* const formation = parents_.contains(parent) ? table_.Begin(key) : nullptr;
  if (formation == nullptr || formation->state == State::kOver) return;
  if (parents_.IsRoot(key.first)) return EndUnformed(key, {why, false});
  if (formation->state == State::kPreparing) return Fail(key, {why, false});
  parents_.SendUp(key.first, SubTeamJoinMessage{.team = parent,
                                                .identity = identity,
                                                .size = size,
                                                .node = parents_.at(parent).self,
                                                .ranks = {rank},
                                                .why = why,
                                                .prepared = {},
                                                .parent_epoch = {},
                                                .address = {}});
}

void SubTeams::On(NodeIndex from, const SubTeamJoinMessage& m) {
  const Key key{m.team, m.identity};
  const bool joins = m.why.failure == Failure::kNone;
  if (const Outcome* const over = table_.OutcomeFor(key, m.ranks, joins)) {
    return parents_.SendTo(m.team, from, DecisionAgainst(key, *over));
  }
  Formation* const formation = table_.Begin(key);
  if (formation == nullptr) {
    return parents_.SendTo(m.team, from, DecisionAgainst(key, Outcome::ByPlanner("too many sub-teams are forming")));
  }
  if (formation->state == State::kPreparing) {
    if (!joins) Fail(key, {m.why, false});
    return;
  }
  formation->below.insert(from);
  formation->passed.insert(m.ranks.begin(), m.ranks.end());
  if (!parents_.IsRoot(key.first)) return parents_.SendUp(key.first, m);
  if (!joins) return EndUnformed(key, {m.why, false});
  root_.NoteAhead(m, formation);
  if (!m.address.empty()) formation->addresses[m.node] = m.address;
  AddAtRoot(key, m.node, m.ranks, m.size);
}

void SubTeams::AddAtRoot(const Key& key, NodeIndex node, const std::vector<Rank>& ranks, uint32_t size) {
  Formation& formation = table_.at(key);
  if (const auto refusal = root_.Add(key, &formation, node, ranks, size)) return EndUnformed(key, *refusal);
  if (!formation.gathering.complete()) return;
  SubTeamPrepareMessage prepare;
  bool are_all_ahead = false;
  if (const auto refusal = root_.Name(key, formation, &prepare, &are_all_ahead)) return EndUnformed(key, *refusal);
  Prepare(key, prepare, /*asks=*/!are_all_ahead);
}

// --- Preparation ---

void SubTeams::On(NodeIndex from, const SubTeamPrepareMessage& m) {
  const Key key{m.team, m.identity};
  if (parents_.at(m.team).place.up != from || m.id == TeamId(0)) return;
  Formation* const formation = table_.Find(key);
  if (formation == nullptr || formation->state == State::kOver) {
    return parents_.SendUp(
        key.first,
        SubTeamReplyMessage{
            .team = m.team, .id = m.id, .why = Outcome::ByPlanner("the joins of a node are gone").why, .again = true});
  }
  if (formation->state == State::kPreparing) {
    if (m.addresses.empty() || m.id == formation->id) return;
    table_.ReleaseId(local_.Undo(formation));
  }
  promised_.Drop(formation);
  Prepare(key, m);
}

void SubTeams::Prepare(const Key& key, const SubTeamPrepareMessage& m, bool asks) {
  Formation& formation = table_.at(key);
  formation.state = State::kPreparing;
  formation.since = parts_->clock->Now();
  formation.is_duplicate = m.parent_epoch != EpochId(0);
  formation.is_positional = !m.addresses.empty();
  table_.SetId(key, m.id);
  if (asks) {
    formation.unanswered = formation.below;
    for (const NodeIndex node : formation.below) parents_.SendTo(key.first, node, m);
  }
  if (!formation.own.empty()) {
    if (const std::optional<Outcome> refusal = local_.Prepare(m, &formation)) return Fail(key, *refusal);
  }
  AnswerIfDone(key);
}

bool SubTeams::PrepareAgain(const Key& key) {
  Formation& formation = table_.at(key);
  SubTeamPrepareMessage prepare;
  if (formation.state != State::kPreparing || !root_.NameAgain(key, formation, &prepare)) return false;
  table_.ReleaseId(local_.Undo(&formation));
  Prepare(key, prepare);
  return true;
}

void SubTeams::OnLabel(Incarnation from, const SubTeamLabelMessage& m) {
  const std::optional<Key> key = table_.KeyOf(m.id);
  if (!key) return local_.AddEarly(m.id, from, m.label);
  if (table_.at(*key).exchange.Add(from, m.label)) AnswerIfDone(*key);
}

void SubTeams::AnswerIfDone(const Key& key) {
  Formation& formation = table_.at(key);
  if (!formation.unanswered.empty() || !formation.exchange.is_complete() || formation.has_answered) return;
  if (parents_.IsRoot(key.first)) {
    return EndFormed(key, formation.is_duplicate ? root_.Promise(key.first) : TeamId(0));
  }
  formation.has_answered = true;
  parents_.SendUp(
      key.first,
      SubTeamReplyMessage{.team = key.first, .id = formation.id, .why = {}, .again = false, .plans = formation.plans});
}

void SubTeams::On(NodeIndex from, const SubTeamReplyMessage& m) {
  const std::optional<Key> key = table_.KeyOf(m.id);
  if (!key || key->first != m.team) return;
  Formation& formation = table_.at(*key);
  if (!formation.below.contains(from)) return;
  if (m.why.failure != Failure::kNone) return Fail(*key, {m.why, m.again});
  if (m.plans != 0 && formation.plans != 0 && m.plans != formation.plans) {
    return Fail(*key, Outcome::ByPlanner("nodes know different plans for the sub-team"));
  }
  if (formation.plans == 0) formation.plans = m.plans;
  formation.unanswered.erase(from);
  AnswerIfDone(*key);
}

void SubTeams::Fail(const Key& key, const Outcome& outcome) {
  if (parents_.IsRoot(key.first)) {
    if (!outcome.again || !PrepareAgain(key)) EndUnformed(key, outcome);
    return;
  }
  Formation& formation = table_.at(key);
  formation.has_answered = true;
  parents_.SendUp(key.first, SubTeamReplyMessage{
                                 .team = key.first, .id = formation.id, .why = outcome.why, .again = outcome.again});
}

// --- The decision ---

void SubTeams::On(NodeIndex from, const SubTeamDecisionMessage& m) {
  const Key key{m.team, m.identity};
  const Formation* const formation = table_.Find(key);
  if (parents_.at(m.team).place.up != from || formation == nullptr || formation->state == State::kOver) return;
  if (m.why.failure != Failure::kNone) return EndUnformed(key, {m.why, m.again});
  if (m.next != TeamId(0)) parents_.Promise(m.team, m.next);
  const bool is_prepared = formation->state == State::kPreparing || formation->is_ahead;
  if (is_prepared && formation->id == m.id) EndFormed(key, m.next);
}

void SubTeams::End(uint64_t request, const Outcome& outcome) {
  if (outcome.again) {
    formations_->PassToPlanner(request);
  } else {
    formations_->FailJoin(request, outcome.why);
  }
}

void SubTeams::EndUnformed(const Key& key, const Outcome& outcome) {
  Formation& formation = table_.at(key);
  const SubTeamDecisionMessage decision = DecisionAgainst(key, outcome, formation.id);
  for (const NodeIndex node : formation.below) parents_.SendTo(key.first, node, decision);
  local_.Release(&formation);
  const Formation ended = table_.End(key, outcome);
  local_.Drop(ended.id);
  for (const auto& [rank, request] : ended.own) End(request, outcome);
  if (outcome.again) ++passed_on_;
}

SubTeamFormation SubTeams::PassFormed(const Key& key, TeamId next) {
  Formation formation = table_.Take(key);
  const SubTeamDecisionMessage decision{
      .team = key.first, .identity = key.second, .id = formation.id, .why = {}, .again = false, .next = next};
  for (const NodeIndex node : formation.below) parents_.SendTo(key.first, node, decision);
  return formation;
}

void SubTeams::EndFormed(const Key& key, TeamId next) {
  Formation formation = PassFormed(key, next);
  if (const Team* const team = teams_->Find(formation.id); team != nullptr && !team->broken()) {
    ++formed_;
    host_->CommitSubTeam(formation.id, formation.exchange.labels());
  }
  local_.Release(&formation);
}

void SubTeams::CommittedByNeighbor(const Team& team) {
  const std::optional<Key> key = table_.KeyOf(team.id());
  if (!key) return;
  Formation formation = PassFormed(*key, TeamId(0));
  ++formed_;
  local_.Release(&formation);
  NoteCommitted(team);
}

void SubTeams::Broken(TeamId team, const FailureReport& why) {
  const std::optional<Key> key = table_.KeyOf(team);
  if (!key) return;
  const Formation& formation = table_.at(*key);
  local_.BreakAtNeighbors(formation, why);
  if (!formation.is_ahead || formation.own.empty()) return Fail(*key, {why, false});
  // The root may still gather joins.
  Refuse(key->first, key->second, formation.own.begin()->first, formation.size, why);
}

bool SubTeams::OnPeerMessage(Incarnation from, const PeerMessage& message) {
  if (const auto* label = std::get_if<SubTeamLabelMessage>(&message)) {
    OnLabel(from, *label);
    return true;
  }
  return std::visit(
      [&](const auto& m) {
        if constexpr (requires { this->On(NodeIndex(0), m); }) {
          const schedule::TeamLayout* const layout = parents_.LayoutOf(m.team);
          if (layout == nullptr) {
            // A daemon whose ranks have long left the parent cannot pass joins on.
            if constexpr (requires { m.ranks; }) {
              const Outcome outcome = Outcome::ByPlanner("a node has left the parent");
              link_->SendToPeer(from, DecisionAgainst({m.team, m.identity}, outcome));
            }
            return true;
          }
          const std::optional<NodeIndex> node = parents_.NodeOf(m.team, from);
          if (!node) return true;
          if constexpr (requires { m.node; }) {
            if (m.node.value() >= layout->nodes.size()) return true;
          }
          On(*node, m);
          return true;
        } else {
          return false;
        }
      },
      message);
}

// --- The planner ---

void SubTeams::OnRegistered(const schedule::Registered& registered) {
  root_.OnRegistered(registered);
  reports_.Send();
}

void SubTeams::NoteCommitted(const Team& team) {
  local_.Forget(team.id());
  reports_.Add(team.id());
}

void SubTeams::ReportFormed(TeamId team) {
  // A team's parent, if it is unreported, too, stands before it.
  if (reports_.IsMissing(team)) reports_.Send();
}

// --- Time, and what others see ---

void SubTeams::Tick() {
  root_.RequestIds();
  reports_.Send();
  for (const Key& key : table_.Keys()) Tick(key);
  parents_.DropLeft(parts_->options->formation_timeout);
}

void SubTeams::Tick(const Key& key) {
  Formation* formation = table_.Find(key);
  if (formation != nullptr && formation->state == State::kGathering && parents_.contains(key.first)) {
    Flush(key, formation);
    formation = table_.Find(key);
  }
  if (formation == nullptr) return;
  if (formation->state == State::kOver) {
    if (timeouts_.IsOutcomeOld(*formation)) table_.Take(key);
    return;
  }
  const std::optional<Outcome> outcome = timeouts_.Expired(key, *formation);
  if (!outcome) return;
  // The root, if it is another daemon, may have decided otherwise.
  if (!parents_.IsRoot(key.first)) local_.BreakAtNeighbors(*formation, outcome->why);
  EndUnformed(key, *outcome);
}

void SubTeams::AppendStatus(schedule::DaemonStatus* status) const {
  status->counters["daemon.sub_teams.formed"] = formed_;
  status->counters["daemon.sub_teams.by_planner"] = passed_on_;
}

void SubTeams::CheckInvariants() const {
  table_.CheckInvariants();
  parents_.CheckInvariants();
}

}  // namespace copse::daemon
