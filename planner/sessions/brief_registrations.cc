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

// Contents beyond this sum are forgotten once nobody waits. Daemons that connect later are asked again.
constexpr uint64_t kKeptBytesMax = 64 << 20;
// As many bytes of contents a session may send as one message has.
constexpr uint64_t kSessionBytesMax = rpc::kMessageBytesMax;

// As many bytes of messages a session may send while its registration waits.
constexpr uint64_t kLaterBytesMax = 4 << 20;

}  // namespace

void BriefRegistrations::Take(SessionId session, v1::Register message) {
  Waiting& waiting = waiting_[session];
  waiting.message = std::move(message);
  for (const v1::RunningTeam& team : waiting.message.teams()) {
    if (!team.content().empty() && !contents_.contains(team.content())) waiting.lacking.insert(team.content());
  }
  for (const std::string& sha256 : waiting.lacking) {
    Question& question = questions_[sha256];
    question.waiting.insert(session);
    if (question.asked == 0) Ask(sha256, &question);
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
  question->asked = *question->waiting.begin();
  sink_->AskForContent(question->asked, sha256);
}

void BriefRegistrations::OnContent(SessionId session, const v1::TeamContent& content) {
  const auto question = questions_.find(content.sha256());
  if (question == questions_.end() || question->second.asked != session) return;
  Waiting& sender = waiting_.at(session);
  sender.content_bytes += content.zstd().size();
  if (sender.content_bytes > kSessionBytesMax) {
    return Fail(session,
                absl::ResourceExhaustedError(absl::StrCat("register: bytes of contents: ", sender.content_bytes,
                                                          " (limit ", kSessionBytesMax, ")")));
  }
  if (const absl::Status status = rpc::CheckContent(content); !status.ok()) return Fail(session, status);
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
    question->second.waiting.erase(session);
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
  sink_->OnWhole(session, Whole(std::move(complete.message)), std::move(complete.later));
  if (!waiting_.empty() || kept_bytes_ <= kKeptBytesMax) return;
  contents_.clear();
  reported_.clear();
  kept_bytes_ = 0;
}

absl::StatusOr<schedule::FromDaemon> BriefRegistrations::Whole(v1::Register message) {
  google::protobuf::RepeatedPtrField<v1::RunningTeam> teams;
  teams.Swap(message.mutable_teams());
  if (teams.size() > static_cast<int>(rpc::kRunningTeamsMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("register: teams: ", teams.size(), " (limit ", rpc::kRunningTeamsMax, ")"));
  }
  v1::FromDaemon from;
  from.mutable_register_()->Swap(&message);
  ASSIGN_OR_RETURN(schedule::FromDaemon whole, rpc::FromProto(from));
  auto& registration = std::get<schedule::Register>(whole);
  for (v1::RunningTeam& team : teams) {
    schedule::RunningTeam running = rpc::StandingOf(team);
    team.clear_epoch();
    team.clear_prepared_epoch();
    team.clear_broken();
    team.clear_why();
    ASSIGN_OR_RETURN(const Reported reported, Expand(team));
    running.layout = reported.layout;
    running.plans = reported.plans;
    registration.teams.push_back(std::move(running));
  }
  return whole;
}

absl::StatusOr<BriefRegistrations::Reported> BriefRegistrations::Expand(const v1::RunningTeam& team) {
  const std::string key = team.SerializeAsString();
  if (const auto known = reported_.find(key); known != reported_.end()) return known->second;
  v1::FromDaemon from;
  v1::RunningTeam* const expanded = from.mutable_register_()->add_teams();
  *expanded = team;
  if (!team.content().empty()) RETURN_IF_ERROR(rpc::PutContent(contents_.at(team.content()), expanded));
  ASSIGN_OR_RETURN(const schedule::FromDaemon whole, rpc::FromProto(from));
  const schedule::RunningTeam& running = std::get<schedule::Register>(whole).teams.front();
  kept_bytes_ += key.size() + expanded->ByteSizeLong();
  return reported_[key] = {running.layout, running.plans};
}

}  // namespace copse::planner
