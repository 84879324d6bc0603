// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/lost_ends.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "base/log.h"
#include "planner/coordinator/state/team_table.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;

// No message is under way for so long on a stream that carries others.
constexpr absl::Duration kPatience = absl::Seconds(30);
// Differences beyond so many wait for those before them.
constexpr size_t kDifferencesMax = 1024;

}  // namespace

void LostEnds::OnTeamsHeld(Node& node, const schedule::TeamsHeld& message) {
  const std::set<TeamId> held(message.teams.begin(), message.teams.end());
  std::vector<TeamId> differing;
  for (const TeamId id : node.teams) {
    const Team* team = held.count(id) == 0 ? state_->teams.Find(id) : nullptr;
    if (team == nullptr || team->record.epoch == EpochId{0}) continue;  // it has prepare_timeout to prepare the team
    const std::optional<uint32_t> member = team->MemberOf(node.announcement);
    if (member.has_value() && team->members[*member].remains()) differing.push_back(id);
  }
  std::copy_if(held.begin(), held.end(), std::back_inserter(differing),
               [this](TeamId id) { return state_->teams.Find(id) == nullptr && state_->ended.Has(id); });

  std::map<TeamId, absl::Time> before = std::exchange(node.differs_since, {});
  std::vector<TeamId> settled;
  for (const TeamId id : differing) {
    if (node.differs_since.size() == kDifferencesMax) break;
    const auto known = before.find(id);
    const absl::Time since = known == before.end() ? state_->Now() : known->second;
    const bool is_due = state_->Now() - since >= kPatience;
    node.differs_since[id] = is_due ? absl::InfiniteFuture() : since;
    if (is_due) settled.push_back(id);
  }
  for (const TeamId id : settled) {
    if (held.count(id) == 0) {
      MarkLeft(node, id);
    } else {
      End(node, id);
    }
  }
}

void LostEnds::MarkLeft(const Node& node, TeamId id) {
  Team* team = state_->teams.Find(id);
  if (team == nullptr) return;  // it has ended with another one of the list
  COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(team->record.layout, node.announcement.name), "node ",
                  node.announcement.name, " does not have team ", id.value(), " any more: it counts as left");
  state_->Note(node, "reconciled", absl::StrCat("it does not have team ", id.value(), " any more"));
  reunion_->NotListed(*team, *team->MemberOf(node.announcement));
}

void LostEnds::End(const Node& node, TeamId id) {
  COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(id, {}, node.announcement.name), "node ", node.announcement.name,
                  " still has team ", id.value(), ", which has ended");
  state_->Note(node, "reconciled", absl::StrCat("it still had team ", id.value(), ", which has ended"));
  state_->outbox.Send(node.session, schedule::BreakTeam{id, {Failure::kMemberLost, "the planner has ended this team"}});
  state_->outbox.Send(node.session, schedule::EndTeam{id});
}

}  // namespace copse::coordinator
