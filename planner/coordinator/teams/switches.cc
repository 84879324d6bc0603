// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/teams/switches.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::coordinator {
namespace {

// A switch that is blocked is tried at this interval, since a team is formed, or switched, within milliseconds.
constexpr absl::Duration kSwitchAgain = absl::Milliseconds(100);

}  // namespace

void Switches::SwitchTeam(TeamId id, const PlanOptions& options, Done done, absl::Duration patience) {
  const Family family = options.collective.has_value() ? FamilyOf(*options.collective) : Family::kCommon;
  const Team* team = state_->teams.Find(id);
  if (team != nullptr && family != Family::kCommon && family != team->record.layout.identity.family) {
    const std::optional<TeamId> derived = derived_->Find(id, family);
    if (!derived.has_value()) {
      return done(absl::FailedPreconditionError(
          absl::StrCat("team ", id.value(), ": has not called ", AbslView(CollectiveName(*options.collective)),
                       " yet, or another of the family ", AbslView(FamilyName(family)))));
    }
    id = *derived;
  }
  SwitchUntil(id, options, std::move(done), state_->Now() + patience);
}

void Switches::SwitchUntil(TeamId id, const PlanOptions& options, Done done, absl::Time until) {
  if (state_->Now() >= until) return Switch(id, options, std::move(done));
  Switch(id, options, [this, id, options, done = std::move(done), until](const absl::Status& status) {
    const Team* team = state_->teams.Find(id);
    const bool may_pass =
        absl::IsFailedPrecondition(status) && team != nullptr && !team->record.broken && team->durable();
    if (!may_pass) return done(status);
    state_->timers.Set(std::min(state_->Now() + kSwitchAgain, until),
                       [this, id, options, done, until] { SwitchUntil(id, options, done, until); });
  });
}

absl::Status Switches::Check(TeamId id) const {
  const Team* team = state_->teams.Find(id);
  const std::string name = absl::StrCat("team ", id.value());
  if (team == nullptr) return absl::NotFoundError(absl::StrCat(name, ": not known"));
  const auto refusal = [&](const std::string& why) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": ", why));
  };
  if (team->record.broken) return refusal(absl::StrCat("broken: ", team->record.why.text));
  if (!team->durable())
    return refusal(absl::StrCat("is derived from team ", team->record.layout.parent.value(), ": replan that"));
  if (team->change.has_value())
    return refusal(team->record.epoch == EpochId{0} ? "is still forming" : "is being replanned already");
  for (uint32_t i = 0; i < team->node_count(); ++i) {
    const schedule::TeamNode& node = team->record.layout.nodes[i];
    const Member& member = team->members[i];
    if (member.left || member.gone) return refusal(absl::StrCat("node ", node.name, " has left it"));
    if (state_->nodes.Live(node) == nullptr) return refusal(absl::StrCat("node ", node.name, " is not connected"));
    if (member.committed != team->record.epoch)
      return refusal(absl::StrCat("node ", node.name, " has not confirmed epoch ", team->record.epoch.value()));
  }
  return absl::OkStatus();
}

void Switches::Switch(TeamId id, const PlanOptions& options, Done done) {
  if (const absl::Status status = Check(id); !status.ok()) return done(status);
  const auto start = [this, id, done = std::move(done)](absl::StatusOr<std::vector<std::string>> plans) {
    if (!plans.ok()) return done(plans.status());
    // The team may have changed while the plans were made.
    if (const absl::Status status = Check(id); !status.ok()) return done(status);
    epochs_->StartSwitch(*state_->teams.Find(id), *std::move(plans), done);
  };
  epochs_->MakePlans(state_->teams.Find(id)->record.layout, options, start);
}

}  // namespace copse::coordinator
