// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include "absl/strings/str_cat.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/selection.h"

namespace copse::ctl {
namespace {

template <typename Repeated>
auto VectorOf(const Repeated& repeated) {
  return std::vector(repeated.begin(), repeated.end());
}

absl::Status List(const Arguments& arguments, VerbContext& context) {
  v1::ListCollectivesRequest request;
  request.set_timeout_s(absl::ToDoubleSeconds(context.client->TimeForOthers()));
  if (arguments.Has("team")) {
    ASSIGN_OR_RETURN(const uint64_t team, FindTeam(*context.client, arguments.Text("team")));
    request.set_team(team);
  }
  RETURN_IF_ERROR(ReadSelection(arguments, &request));
  ASSIGN_OR_RETURN(
      const v1::ListCollectivesReply reply,
      context.client->CallForRows(PlannerAdmin::StreamCollectives, PlannerAdmin::ListCollectives, request));
  context.out = RenderCollectives(reply.collectives(), context.style);
  if (reply.silent_size() > 0) {
    context.notes.push_back(absl::StrCat("no answer from some daemons: their part is not shown (nodes=",
                                         CompressHostlist(VectorOf(reply.silent())), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string RenderCollectives(const google::protobuf::RepeatedPtrField<v1::CollectiveRow>& calls, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(calls));
  cli::TableRows rows = {{"TEAM>", "CALL>", "COLLECTIVE", "AGE>", "JOINED", "MISSING", "MISSING ON"}};
  for (const v1::CollectiveRow& call : calls) {
    std::string what = call.arguments().empty() ? call.collective() : call.arguments();
    if (!call.waits_for().empty()) absl::StrAppend(&what, " (waits for plans)");
    const auto nodes = VectorOf(call.missing_nodes());
    rows.push_back({absl::StrCat(call.team()), absl::StrCat(call.sequence()), what, cli::FormatSeconds(call.age_s()),
                    cli::FormatRanges(VectorOf(call.joined())), cli::FormatRanges(VectorOf(call.missing())),
                    nodes.empty() ? "-" : CompressHostlist(nodes)});
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::vector<Verb> CollVerbs() {
  return {{.family = "coll",
           .name = "list",
           .help = "calls in flight: who has joined, who is missing",
           .options = WithSelection({{"team", "TEAM", "only of this team: its id or name"}}, /*owner=*/true, ""),
           .run = List}};
}

}  // namespace copse::ctl
