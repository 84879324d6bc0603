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
    if (!team.content().empty() && !contents_.contains(team.content())) waiting.lacking.insert(team.content());
  }
  for (const std::string& sha256 : waiting.lacking) {
    Question& question = questions_[sha256];
    question.waiting.insert(session);
    question.unasked.insert(session);
    if (question.is_overdue) Ask(sha256, &question);
  }
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

void BriefRegistrations::Ask(const std::string& sha256, Question* question) {
  question->is_overdue = question->unasked.empty();
  if (question->is_overdue) return;
  question->asked = question->unasked.extract(question->unasked.begin()).value();
  asked_.push_back({{}, sha256, question->asked});
  sink_->AskForContent(question->asked, sha256);
}

void BriefRegistrations::Tick(absl::Time now) {
  while (NextDeadline() <= now) {
    const Due due = std::move(due_.front());
    due_.pop_front();
    const auto question = questions_.find(due.sha256);
    if (question != questions_.end() && question->second.asked == due.asked) Ask(due.sha256, &question->second);
  }
  for (Due& due : std::exchange(asked_, {})) {
    due.time = now + kPatience;
    due_.push_back(std::move(due));
  }
}

void BriefRegistrations::OnContent(SessionId session, const v1::TeamContent& content) {
  const auto question = questions_.find(content.sha256());
  if (question == questions_.end() || !question->second.waiting.contains(session) ||
      question->second.unasked.contains(session)) {
    return;
  }
  Waiting& sender = waiting_.at(session);
  sender.content_bytes += content.zstd().size();
  if (sender.content_bytes > kSessionBytesMax) {
    return Fail(session,
                absl::ResourceExhaustedError(absl::StrCat("register: bytes of contents: ", sender.content_bytes,
                                                          " (limit ", kSessionBytesMax, ")")));
  }
  if (const absl::Status status = rpc::CheckContent(content); !status.ok()) return Fail(session, status);
  if (kept_bytes_ + content.zstd().size() > limits_.kept_while_waiting) Forget();
  if (kept_bytes_ + content.zstd().size() > limits_.kept_while_waiting) {
    return Fail(
        session,
        absl::ResourceExhaustedError(absl::StrCat(
            "register: bytes of contents that all registrations wait with: ", kept_bytes_ + content.zstd().size(),
            " (limit ", limits_.kept_while_waiting, "); try again later")));
  }
  contents_[content.sha256()] = content;
  kept_bytes_ += content.zstd().size();
  const std::set<SessionId> waiting = std::move(question->second.waiting);
  questions_.erase(question);
  for (const SessionId each : waiting) {
    const auto it = waiting_.find(each);
    if (it == waiting_.end()) continue;
    it->second.lacking.erase(content.sha256());
    Complete(each);
  }
}

void BriefRegistrations::OnClosed(SessionId session) {
  const auto waiting = waiting_.extract(session);
  if (waiting.empty()) return;
  for (const std::string& sha256 : waiting.mapped().lacking) {
    const auto question = questions_.find(sha256);
    if (question == questions_.end()) continue;  // it was not asked for yet
    question->second.waiting.erase(session);
    question->second.unasked.erase(session);
    if (question->second.waiting.empty()) {
      questions_.erase(question);
    } else if (question->second.asked == session) {
      Ask(sha256, &question->second);
    }
  }
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
  if (kept_bytes_ > (waiting_.empty() ? limits_.kept : limits_.kept_while_waiting)) Forget();
}

void BriefRegistrations::Forget() {
  std::set<std::string> named;
  for (const auto& [session, waiting] : waiting_) {
    for (const v1::RunningTeam& team : waiting.teams) named.insert(team.content());
  }
  reported_.clear();
  std::erase_if(contents_, [&](const auto& entry) { return !named.contains(entry.first); });
  kept_bytes_ = 0;
  for (const auto& [sha256, content] : contents_) kept_bytes_ += content.zstd().size();
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
    ASSIGN_OR_RETURN(const Reported reported, Expand(team, &bytes));
    if (bytes > limits_.expanded) {
      return absl::ResourceExhaustedError(
          absl::StrCat("register: bytes of teams: ", bytes, " (limit ", limits_.expanded, ")"));
    }
    running.layout = reported.layout;
    running.plans = reported.plans;
    registration.teams.push_back(std::move(running));
  }
  return whole;
}

absl::StatusOr<BriefRegistrations::Reported> BriefRegistrations::Expand(const v1::RunningTeam& team, uint64_t* bytes) {
  const std::string key = team.SerializeAsString();
  if (const auto known = reported_.find(key); known != reported_.end()) return known->second;
  v1::FromDaemon from;
  v1::RunningTeam* const expanded = from.mutable_register_()->add_teams();
  *expanded = team;
  if (!team.content().empty()) RETURN_IF_ERROR(rpc::PutContent(contents_.at(team.content()), expanded));
  ASSIGN_OR_RETURN(const schedule::FromDaemon whole, rpc::FromProto(from));
  const schedule::RunningTeam& running = std::get<schedule::Register>(whole).teams.front();
  const uint64_t size = key.size() + expanded->ByteSizeLong();
  *bytes += size;
  kept_bytes_ += size;
  return reported_[key] = {running.layout, running.plans};
}

}  // namespace copse::planner
