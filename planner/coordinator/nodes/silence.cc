// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/silence.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/units.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// A daemon's report makes the planner wait for reports of others for at most this time.
constexpr absl::Duration kOthersDueMax = absl::Seconds(10);

}  // namespace

void Silence::OnNeighborSilent(const Node& node, const schedule::NeighborSilent& message) {
  const Incarnation self = node.announcement.incarnation;
  if (!message.silent) return inquiry_.Withdraw(self, message.neighbor);
  std::set<TeamId> teams;
  for (const TeamId id : message.teams) {
    const Team* team = state_->teams.Find(id);
    if (team == nullptr || team->record.broken || node.teams.count(id) == 0) continue;
    const std::vector<schedule::TeamNode>& nodes = team->record.layout.nodes;
    const bool both = std::any_of(nodes.begin(), nodes.end(), [&](const schedule::TeamNode& member) {
      return member.incarnation == message.neighbor;
    });
    if (both && message.neighbor != self) teams.insert(id);
  }
  if (teams.empty()) return;  // the reported teams are decided already
  COPSE_LOG_ABOUT(kInfo, schedule::AboutNode(node.announcement.name), "node ", node.announcement.name,
                  " hears nothing from neighbor ", message.neighbor.value(), ", and hears ", message.living, " others");
  if (!inquiry_.Accuse(self, message.neighbor, message.living, std::move(teams),
                       absl::Milliseconds(message.silent_ms))) {
    return;
  }
  const absl::Duration others_due = std::min(absl::Milliseconds(message.others_due_ms), kOthersDueMax);
  state_->timers.Set(state_->Now() + others_due, [this, link = PairOf(self, message.neighbor)] { Judge(link); });
}

void Silence::Judge(const DaemonPair& link) {
  // The planner receives no reports from a node without a stream.
  const auto can_speak = [this](Incarnation daemon) {
    return std::any_of(state_->nodes.all().begin(), state_->nodes.all().end(), [&](const auto& entry) {
      return entry.second.is_connected() && entry.second.announcement.incarnation == daemon;
    });
  };
  for (const LinkVerdict& verdict : inquiry_.Judge(link, can_speak)) {
    for (const TeamId id : verdict.teams) {
      if (Team* team = state_->teams.Find(id)) Break(*team, verdict);
    }
  }
}

void Silence::Break(Team& team, const LinkVerdict& verdict) {
  const schedule::TeamLayout& layout = team.record.layout;
  std::vector<std::string> ends;  // members that may be lost, by node index
  std::optional<uint32_t> lost;
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Incarnation daemon = layout.nodes[i].incarnation;
    if (daemon != verdict.link.first && daemon != verdict.link.second) continue;
    if (team.members[i].left) return;  // the member has left, so silence is expected
    if (verdict.lost.has_value() && daemon != *verdict.lost) continue;
    if (verdict.lost.has_value()) lost = i;
    std::vector<Rank> ranks;
    for (uint32_t rank = 0; rank < layout.shape.size(); ++rank) {
      if (layout.shape.node_of_rank[rank] == NodeIndex{i}) ranks.push_back(Rank{rank});
    }
    ends.push_back(schedule::DescribeMember(ranks, layout.nodes[i].name));
  }
  FailureReport why{
      .failure = Failure::kMemberLost,
      .text = absl::StrCat(absl::StrJoin(ends, " or "), " lost: silent ", ends.size() == 1 ? "" : "to each other ",
                           "for ", FormatShortDuration(verdict.silent)),
      .cause = FailureCause::kNodeSilent,
      .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(verdict.silent))};
  if (lost.has_value()) {
    why.node = layout.nodes[*lost].name;
    state_->NoteLost(why.node, layout.nodes[*lost].incarnation);
  }
  ends_->Break(team, why);
}

}  // namespace copse::coordinator
