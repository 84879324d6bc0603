// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/coll_verbs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/ctl/table.h"

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
  ASSIGN_OR_RETURN(const v1::ListCollectivesReply reply, context.client->ListCollectives(request));
  context.out = RenderCollectives(reply.collectives(), context.style);
  if (reply.silent_size() > 0) {
    context.notes.push_back(absl::StrCat("no answer from some daemons: their part is not shown (nodes=",
                                         CompressHostlist(VectorOf(reply.silent())), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

Json ToJson(const v1::CollectiveRow& call) {
  return {{"team", call.team()},
          {"sequence", call.sequence()},
          {"collective", call.collective()},
          {"arguments", call.arguments()},
          {"age_s", call.age_s()},
          {"joined", VectorOf(call.joined())},
          {"missing", VectorOf(call.missing())},
          {"missing_nodes", VectorOf(call.missing_nodes())},
          {"waits_for", call.waits_for()}};
}

std::string RenderCollectives(const google::protobuf::RepeatedPtrField<v1::CollectiveRow>& calls, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::CollectiveRow& call : calls) json.push_back(ToJson(call));
    return DumpJson(json);
  }
  constexpr auto kRight = Table::Align::kRight;
  Table table(
      {{"TEAM", kRight}, {"CALL", kRight}, {"COLLECTIVE"}, {"AGE", kRight}, {"JOINED"}, {"MISSING"}, {"MISSING ON"}});
  for (const v1::CollectiveRow& call : calls) {
    std::string what = call.arguments().empty() ? call.collective() : call.arguments();
    if (!call.waits_for().empty()) absl::StrAppend(&what, " (waits for plans)");
    const auto nodes = VectorOf(call.missing_nodes());
    table.AddRow({absl::StrCat(call.team()), absl::StrCat(call.sequence()), what, FormatSeconds(call.age_s()),
                  FormatRanges(VectorOf(call.joined())), FormatRanges(VectorOf(call.missing())),
                  nodes.empty() ? "-" : CompressHostlist(nodes)});
  }
  return table.Render(style.width);
}

std::vector<Verb> CollVerbs() {
  return {{.family = "coll",
           .name = "list",
           .help = "calls in flight: who has joined, who is missing",
           .options = {{"team", "TEAM", "only of this team: its id or name"}},
           .run = List}};
}

}  // namespace copse::ctl
