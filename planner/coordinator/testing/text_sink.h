// SPDX-License-Identifier: Apache-2.0
//
// A sink that keeps what was sent as text.
#ifndef COPSE_PLANNER_COORDINATOR_TESTING_TEXT_SINK_H_
#define COPSE_PLANNER_COORDINATOR_TESTING_TEXT_SINK_H_

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A TextSink keeps what was sent as "SESSION KIND TEAM".
class TextSink : public SessionSink {
 public:
  void Send(SessionId session, const schedule::ToDaemon& message) override {
    std::string text = absl::StrCat(session);
    if (std::holds_alternative<schedule::Registered>(message)) text += " registered";
    if (std::holds_alternative<schedule::Drain>(message)) text += " drain";
    if (std::holds_alternative<schedule::StatusQuery>(message)) text += " query";
    if (const auto* m = std::get_if<schedule::Prepare>(&message))
      absl::StrAppend(&text, " prepare ", m->layout.id.value(), " ", m->requests.size());
    if (const auto* m = std::get_if<schedule::Commit>(&message)) absl::StrAppend(&text, " commit ", m->team.value());
    if (const auto* m = std::get_if<schedule::BreakTeam>(&message)) absl::StrAppend(&text, " break ", m->team.value());
    sent.push_back(text);
  }
  void SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare) override {
    prepares.push_back(members.size());
    SessionSink::SendPrepare(members, std::move(prepare));
  }
  void Close(SessionId session, const std::string&) override { sent.push_back(absl::StrCat(session, " closed")); }

  std::vector<std::string> Sent() { return std::exchange(sent, {}); }

  std::vector<std::string> sent;
  std::vector<size_t> prepares;  // members of each SendPrepare
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TESTING_TEXT_SINK_H_
