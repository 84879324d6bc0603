// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/brief_registrations.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"

namespace copse::planner {

using coordinator::SessionId;

namespace {

// As many bytes of contents a session may send as one message has.
constexpr uint64_t kSessionBytesMax = rpc::kMessageBytesMax;

// As many bytes of messages a session may send while its registration waits.
constexpr uint64_t kLaterBytesMax = 4 << 20;

}  // namespace

void BriefRegistrations::Take(SessionId session, v1::Register message) {
  if (IsWaiting(session)) return Fail(session, absl::InvalidArgumentError("register: came twice"));
  Waiting& waiting = waiting_[session];
  waiting.teams.Swap(message.mutable_teams());
  if (waiting.teams.size() > static_cast<int>(rpc::kRunningTeamsMax)) {
    return Fail(session, absl::InvalidArgumentError(absl::StrCat("register: teams: ", waiting.teams.size(), " (limit ",
                                                                 rpc::kRunningTeamsMax, ")")));
  }
  v1::FromDaemon from;
  from.mutable_register_()->Swap(&message);
  absl::StatusOr<schedule::FromDaemon> registration = rpc::FromProto(from);
  if (!registration.ok()) return Fail(session, registration.status());
  waiting.registration = *std::move(registration);
  // A daemon that would be refused in any case has nothing expanded for it.
  if (!sink_->Admits(session, std::get<schedule::Register>(waiting.registration).node)) {
    waiting.teams.Clear();
    return Complete(session);
  }
  for (const v1::RunningTeam& team : waiting.teams) {
    if (!team.content().empty() && !reports_.Has(team.content())) waiting.lacking.insert(team.content());
  }
  for (const std::string& content : waiting.lacking) questions_.Add(content, session);
  Complete(session);
}

void BriefRegistrations::Keep(SessionId session, schedule::FromDaemon message, uint64_t bytes) {
  Waiting& waiting = waiting_.at(session);
  waiting.later_bytes += bytes;
  if (waiting.later_bytes > kLaterBytesMax) {
    return Fail(session,
                absl::ResourceExhaustedError(absl::StrCat(
                    "register: bytes of messages behind it: ", waiting.later_bytes, " (limit ", kLaterBytesMax, ")")));
  }
  waiting.later.push_back(std::move(message));
}

void BriefRegistrations::OnContent(SessionId session, const v1::TeamContent& content) {
  if (!questions_.WasAsked(content.sha256(), session)) return;
  Waiting& sender = waiting_.at(session);
  sender.content_bytes += content.zstd().size();
  if (sender.content_bytes > kSessionBytesMax) {
    return Fail(session,
                absl::ResourceExhaustedError(absl::StrCat("register: bytes of contents: ", sender.content_bytes,
                                                          " (limit ", kSessionBytesMax, ")")));
  }
  if (const absl::Status status = rpc::CheckContent(content); !status.ok()) return Fail(session, status);
  if (reports_.bytes() + content.zstd().size() > limits_.kept_while_waiting) Forget();
  if (reports_.bytes() + content.zstd().size() > limits_.kept_while_waiting) {
    return Fail(
        session,
        absl::ResourceExhaustedError(absl::StrCat(
            "register: bytes of contents that all registrations wait with: ", reports_.bytes() + content.zstd().size(),
            " (limit ", limits_.kept_while_waiting, "); try again later")));
  }
  reports_.Add(content);
  for (const SessionId each : questions_.End(content.sha256())) {
    const auto it = waiting_.find(each);
    if (it == waiting_.end()) continue;
    it->second.lacking.erase(content.sha256());
    Complete(each);
  }
}

void BriefRegistrations::OnClosed(SessionId session) {
  const auto waiting = waiting_.extract(session);
  if (waiting.empty()) return;
  for (const std::string& content : waiting.mapped().lacking) questions_.Remove(content, session);
}

void BriefRegistrations::Fail(SessionId session, const absl::Status& why) {
  OnClosed(session);
  sink_->OnWhole(session, why, {});
}

void BriefRegistrations::Complete(SessionId session) {
  if (!waiting_.at(session).lacking.empty()) return;
  Waiting complete = std::move(waiting_.extract(session).mapped());
  sink_->OnWhole(session, Whole(std::move(complete.registration), std::move(complete.teams)),
                 std::move(complete.later));
  if (reports_.bytes() > (waiting_.empty() ? limits_.kept : limits_.kept_while_waiting)) Forget();
}

void BriefRegistrations::Forget() {
  std::set<std::string> named;
  for (const auto& [session, waiting] : waiting_) {
    for (const v1::RunningTeam& team : waiting.teams) named.insert(team.content());
  }
  reports_.Forget(named);
}

absl::StatusOr<schedule::FromDaemon> BriefRegistrations::Whole(schedule::FromDaemon whole, Teams teams) {
  auto& registration = std::get<schedule::Register>(whole);
  uint64_t bytes = 0;
  for (v1::RunningTeam& team : teams) {
    schedule::RunningTeam running = rpc::StandingOf(team);
    running.content = team.content();
    team.clear_epoch();
    team.clear_prepared_epoch();
    team.clear_broken();
    team.clear_why();
    ASSIGN_OR_RETURN(const ReportCache::Expanded expanded, reports_.Expand(team, &bytes));
    if (bytes > limits_.expanded) {
      return absl::ResourceExhaustedError(
          absl::StrCat("register: bytes of teams: ", bytes, " (limit ", limits_.expanded, ")"));
    }
    running.layout = expanded.layout;
    running.plans = expanded.plans;
    registration.teams.push_back(std::move(running));
  }
  return whole;
}

}  // namespace copse::planner
