// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verb.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::ctl {

std::string Arguments::Text(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? "" : it->second;
}

absl::StatusOr<uint64_t> Arguments::Id(const std::string& name) const { return ParseId(name, Text(name)); }

absl::StatusOr<uint64_t> ParseId(std::string_view what, std::string_view text) {
  uint64_t id = 0;
  if (!absl::SimpleAtoi(AbslView(text), &id) || id == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a number from 1 on (", AbslView(what), "=", AbslView(text), ")"));
  }
  return id;
}

absl::StatusOr<uint64_t> FindTeam(AdminClient& client, const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= '0' && c <= '9'; })) {
    return ParseId("team", text);
  }
  ASSIGN_OR_RETURN(const v1::ListTeamsReply reply, client.ListTeams({}));
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
