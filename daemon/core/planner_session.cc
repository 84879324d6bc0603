// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/planner_session.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

namespace {

// Limits the teams whose joins wait, since each join looks through them.
constexpr size_t kTeamsMax = 16;

bool IsOfSameTeam(const schedule::JoinTeam& a, const schedule::JoinTeam& b) {
  return a.parent == b.parent && a.size == b.size && a.identity == b.identity;
}

}  // namespace

void PlannerSession::Up(schedule::Register message) {
  state_ = State::kAsked;
  message.term = known_.term();
  message.cluster = known_.cluster();
  link_->Send(std::move(message));
}

void PlannerSession::Down(absl::Time now) {
  if (registered()) lost_ = now;
  state_ = State::kAway;
  joins_.clear();
}

// --- Messages ---

void PlannerSession::Send(const schedule::FromDaemon& message) {
  if (state_ == State::kAway) return;
  const auto* const join = std::get_if<schedule::JoinTeam>(&message);
  if (join != nullptr && Has(schedule::Feature::kJoinsByNode) && !schedule::IsDerivedTeam(join->identity)) {
    return Gather(*join);
  }
  Flush();
  link_->Send(message);
}

void PlannerSession::Gather(const schedule::JoinTeam& join) {
  const auto same =
      std::find_if(joins_.begin(), joins_.end(), [&](const auto& waiting) { return IsOfSameTeam(waiting, join); });
  if (same == joins_.end()) {
    if (joins_.size() == kTeamsMax) Flush();
    joins_.push_back(join);
  } else {
    same->more.emplace_back(join.request, join.rank);
    if (same->more.size() + 1 == schedule::kJoinsPerMessageMax) Flush();
  }
}

void PlannerSession::Flush() {
  for (const schedule::JoinTeam& join : std::exchange(joins_, {})) link_->Send(join);
}

// --- Registration ---

void PlannerSession::OnRegistered(const schedule::Registered& message, absl::Time now) {
  if (message.accepted) {
    state_ = State::kRegistered;
    known_.Follow(message);
  } else if (registered()) {
    lost_ = now;
    state_ = State::kAsked;
    joins_.clear();
  }
  features_ = message.features;
  refusal_ = message.accepted ? nullptr : std::make_unique<FailureReport>(message.why);
}

const FailureReport& PlannerSession::refusal() const {
  static const auto& none = *new FailureReport;
  return refusal_ == nullptr ? none : *refusal_;
}

FailureReport PlannerSession::MissingReport(const std::string& node) const {
  return {
      Failure::kNoResource,
      absl::StrCat("the daemon has no planner (node=", node, ")", refusal().text.empty() ? "" : ": ", refusal().text),
      FailureCause::kNoPlanner, node};
}

}  // namespace copse::daemon
