// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/local_preparation.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

std::optional<SubTeamOutcome> LocalPreparation::Prepare(const SubTeamPrepareMessage& m, SubTeamFormation* formation) {
  CheckedPrepare prepare;
  if (auto outcome = maker_->Make(m, &prepare, &formation->plans)) return outcome;
  if (const auto broken = early_breaks_.Take(**prepare.layout)) return SubTeamOutcome{*broken, false};
  const std::string& name = options_->node.name;
  const std::optional<NodeIndex> self = (*prepare.layout)->NodeOf(options_->node.incarnation);
  if (!self) return SubTeamOutcome{{Failure::kInternal, "the root of the team has not named this node"}, false};
  for (const Rank rank : (*prepare.layout)->shape().RanksOf(*self)) {
    const auto join = formation->own.find(rank);
    if (join == formation->own.end()) {
      return SubTeamOutcome{{Failure::kMemberLost,
                             absl::StrCat("node ", name, " refused: the process of rank ", rank.value(), " is gone"),
                             FailureCause::kUnknown, name, rank},
                            false};
    }
    prepare.requests.emplace_back(join->second, join->first);
  }
  const bool is_duplicate = m.parent_epoch != EpochId(0);
  const PortEdges* const like = is_duplicate ? teams_->Find(m.team)->LabeledEdges() : nullptr;
  if (is_duplicate && like == nullptr) return SubTeamOutcome::ByPlanner("the parent's labels are not known");
  prepared_.insert(m.id);
  const schedule::PrepareReply reply = host_->PrepareSubTeam(prepare, like);
  if (reply.accepted) return MeetNeighbors(m.team, formation, prepare, reply.incoming, like);
  prepared_.erase(m.id);
  FailureReport why = reply.why;
  const std::string who = absl::StrCat("node ", name);
  why.text = absl::StrCat(who, " refused: ", absl::StripPrefix(reply.why.text, absl::StrCat(who, ": ")));
  if (why.node.empty()) why.node = name;
  // A label of the duplicate may be in use: the planner's team has other ones.
  return SubTeamOutcome{why, is_duplicate && why.failure == Failure::kInternal};
}

std::optional<SubTeamOutcome> LocalPreparation::MeetNeighbors(TeamId parent, SubTeamFormation* formation,
                                                              const CheckedPrepare& prepare,
                                                              const std::vector<schedule::EdgeLabel>& incoming,
                                                              const PortEdges* like) {
  const TeamId id = prepare.head.id;
  for (const schedule::EdgeLabel& label : incoming) {
    const schedule::TeamNode& node = (*prepare.layout)->layout().nodes[label.neighbor.value()];
    if (const absl::Status connected = link_->AcquireNeighbor(node); !connected.ok()) {
      return SubTeamOutcome::ByPlanner(
          absl::StrCat("node ", options_->node.name, ": no connection to node ", node.name));
    }
    if (like != nullptr) {
      formation->exchange.Connect(node);
      continue;
    }
    formation->exchange.Expect(node, label.neighbor);
    link_->SendToPeer(node.incarnation, SubTeamLabelMessage{.team = parent, .id = id, .label = label.label});
  }
  if (like != nullptr) {
    formation->exchange.SetLabels(like->RemoteLabelsLike(id));
    return std::nullopt;
  }
  for (const auto& [from, label] : early_labels_.Take(id)) formation->exchange.Add(from, label);
  return std::nullopt;
}

TeamId LocalPreparation::Undo(SubTeamFormation* formation) {
  Release(formation);
  formation->exchange = {};
  formation->plans = 0;
  formation->has_answered = false;
  const TeamId id = std::exchange(formation->id, TeamId(0));
  Drop(id);
  return id;
}

void LocalPreparation::Release(SubTeamFormation* formation) {
  for (const schedule::TeamNode& node : formation->exchange.TakeNeighbors()) {
    link_->ReleaseNeighbor(node.incarnation);
  }
  early_labels_.Take(formation->id);
}

void LocalPreparation::BreakAtNeighbors(const SubTeamFormation& formation, const FailureReport& why) {
  for (const schedule::TeamNode& node : formation.exchange.neighbors()) {
    link_->SendToPeer(node.incarnation, BreakMessage{.team = formation.id, .why = why});
  }
}

}  // namespace copse::daemon
