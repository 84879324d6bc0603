// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verb.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::ctl {

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

absl::StatusOr<uint64_t> ParseId(std::string_view what, std::string_view text) {
  uint64_t id = 0;
  if (!absl::SimpleAtoi(AbslView(text), &id) || id == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a number from 1 on (", AbslView(what), "=", AbslView(text), ")"));
  }
  return id;
}

absl::StatusOr<double> ParseSeconds(const std::string& option, const std::string& text, double limit) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && seconds > 0 && seconds <= limit) return seconds;
  return absl::InvalidArgumentError(
      absl::StrFormat("not a number of seconds above 0 (%s=%s, limit=%g)", option, text, limit));
}

absl::StatusOr<uint64_t> FindTeam(AdminClient& client, const std::string& text) {
  if (IsNumber(text)) return ParseId("team", text);
  v1::ListTeamsRequest request;
  request.set_without_calls(true);
  ASSIGN_OR_RETURN(const v1::ListTeamsReply reply,
                   client.CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  std::vector<uint64_t> ids;
  for (const v1::TeamRow& team : reply.teams()) {
    if (team.name() == text && team.id() != 0) ids.push_back(team.id());
  }
  if (ids.empty()) return absl::NotFoundError(absl::StrCat("no such team (team=", text, ")"));
  if (ids.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("several teams have this name: give an id (team=", text, ", ids=", absl::StrJoin(ids, ","), ")"));
  }
  return ids.front();
}

}  // namespace copse::ctl
