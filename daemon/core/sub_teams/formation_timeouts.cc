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
  const bool is_preparing = formation.state == State::kPreparing;
  const absl::Duration timeout = is_preparing ? kPrepareTimeout : options_->formation_timeout;
  const absl::Duration age = clock_->Now() - formation.since;
  if (age < timeout + (is_root ? absl::ZeroDuration() : kRootGrace)) return std::nullopt;
  if (!is_root) return NotDecided(key, timeout);
  return is_preparing ? NotPrepared(key, formation) : NotGathered(key, formation);
}

bool FormationTimeouts::IsOutcomeOld(const SubTeamFormation& formation) const {
  return clock_->Now() - formation.since >= options_->formation_timeout;
}

SubTeamOutcome FormationTimeouts::NotGathered(const SubTeamKey& key, const SubTeamFormation& formation) const {
  FailureReport why = formation.gathering.Late(options_->formation_timeout);
  absl::StrAppend(&why.text, " (team=", schedule::DescribeTeam(key.second), ")");
  return {why, false};
}

SubTeamOutcome FormationTimeouts::NotDecided(const SubTeamKey& key, absl::Duration timeout) {
  return {{.failure = Failure::kTimedOut,
           .text = absl::StrCat("no decision about the team within ", absl::FormatDuration(timeout),
                                " (team=", schedule::DescribeTeam(key.second), ")"),
           .cause = FailureCause::kNotFormedInTime,
           .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(timeout))},
          false};
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
