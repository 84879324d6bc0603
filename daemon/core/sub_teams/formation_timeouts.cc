// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/formation_timeouts.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;
using State = SubTeamFormation::State;

namespace {

// From Prepare to the last reply.
constexpr absl::Duration kPrepareTimeout = absl::Seconds(10);
// A daemon that hears nothing from the root ends the formation this long after the root should have.
constexpr absl::Duration kRootGrace = absl::Seconds(10);

}  // namespace

std::optional<SubTeamOutcome> FormationTimeouts::Expired(const SubTeamKey& key,
                                                         const SubTeamFormation& formation) const {
  if (!parents_->contains(key.first)) return SubTeamOutcome::ByPlanner("the node has left the parent");
  const bool is_root = parents_->IsRoot(key.first);
  const absl::Duration age = clock_->Now() - formation.since;
  if (formation.state == State::kPreparing) {
    if (!is_root || age < kPrepareTimeout) return std::nullopt;
    return NotPrepared(key, formation);
  }
  if (age < options_->formation_timeout + (is_root ? absl::ZeroDuration() : kRootGrace)) return std::nullopt;
  return NotGathered(key, formation);
}

bool FormationTimeouts::IsOutcomeOld(const SubTeamFormation& formation) const {
  return clock_->Now() - formation.since >= options_->formation_timeout;
}

SubTeamOutcome FormationTimeouts::NotGathered(const SubTeamKey& key, const SubTeamFormation& formation) const {
  const absl::Duration timeout = options_->formation_timeout;
  FailureReport why = formation.gathering.Late(timeout);
  if (!parents_->IsRoot(key.first)) {
    why.text = absl::StrCat("no decision about the team within ", absl::FormatDuration(timeout));
  }
  absl::StrAppend(&why.text, " (team=", schedule::DescribeTeam(key.second), ")");
  return {why, false};
}

SubTeamOutcome FormationTimeouts::NotPrepared(const SubTeamKey& key, const SubTeamFormation& formation) const {
  const schedule::TeamLayout& parent = *parents_->LayoutOf(key.first);
  std::vector<std::string> silent;
  for (const NodeIndex node : formation.unanswered) silent.push_back(parent.nodes[node.value()].name);
  return {{.failure = Failure::kTimedOut,
           .text = absl::StrCat("no answer to prepare within ", absl::FormatDuration(kPrepareTimeout), " from node ",
                                absl::StrJoin(silent, ", ")),
           .cause = FailureCause::kNotFormedInTime,
           .node = silent.size() == 1 ? silent.front() : "",
           .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(kPrepareTimeout))},
          false};
}

}  // namespace copse::daemon
