// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <algorithm>
#include <set>

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

// Plans are asked for of this many teams that have calls in flight.
constexpr size_t kTeamsMax = 8;

// Returns the plans of the calls' teams whose calls were measured, as far as they are known.
PlanRows PlansOf(const google::protobuf::RepeatedPtrField<v1::CollectiveRow>& calls, AdminClient& client) {
  std::set<uint64_t> teams;
  for (const v1::CollectiveRow& call : calls) {
    if (teams.size() < kTeamsMax) teams.insert(call.team());
  }
  PlanRows plans;
  for (const uint64_t team : teams) {
    const absl::StatusOr<PlanRows> of_team = MeasuredPlans(team, client);  // the team may have ended
    if (of_team.ok()) plans.MergeFrom(*of_team);
  }
  return plans;
}

// Returns the plan by which the call runs; null if it is not among `plans`.
const v1::PlanRow* PlanOf(const v1::CollectiveRow& call, const PlanRows& plans) {
  const auto found = std::find_if(plans.begin(), plans.end(), [&call](const v1::PlanRow& plan) {
    return plan.team() == call.team() && plan.collective() == call.plan_collective() &&
           plan.bytes_min() <= call.plan_bytes() && call.plan_bytes() <= plan.bytes_max();
  });
  return found == plans.end() ? nullptr : &*found;
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
  context.out = RenderCollectives(reply.collectives(), PlansOf(reply.collectives(), *context.client), context.style);
  if (reply.silent_size() > 0) {
    context.notes.push_back(absl::StrCat("no answer from some daemons: their part is not shown (nodes=",
                                         CompressHostlist(VectorOf(reply.silent())), ")"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string RenderCollectives(const google::protobuf::RepeatedPtrField<v1::CollectiveRow>& calls, const PlanRows& plans,
                              const Style& style) {
  if (style.format == Format::kJson) {
    Json json = ToJson(calls);
    for (int i = 0; i < calls.size(); ++i) {
      const v1::PlanRow* plan = PlanOf(calls[i], plans);
      if (plan == nullptr) continue;
      json[static_cast<size_t>(i)]["predicted_us"] = plan->predicted_us();
      json[static_cast<size_t>(i)]["measured_us"] = plan->measured().median_us();
    }
    return DumpJson(json);
  }
  cli::TableRows rows = {
      {"TEAM>", "CALL>", "COLLECTIVE", "AGE>", "PREDICTED>", "MEASURED>", "JOINED", "MISSING", "MISSING ON"}};
  const v1::PlanRow unknown;
  for (const v1::CollectiveRow& call : calls) {
    std::string what = call.arguments().empty() ? call.collective() : call.arguments();
    if (!call.waits_for().empty()) absl::StrAppend(&what, " (waits for plans)");
    const auto nodes = VectorOf(call.missing_nodes());
    const v1::PlanRow* const known = PlanOf(call, plans);
    const v1::PlanRow& plan = known == nullptr ? unknown : *known;
    rows.push_back({absl::StrCat(call.team()), absl::StrCat(call.sequence()), what, cli::FormatSeconds(call.age_s()),
                    Predicted(plan), Measured(plan), cli::FormatRanges(VectorOf(call.joined())),
                    cli::FormatRanges(VectorOf(call.missing())), nodes.empty() ? "-" : CompressHostlist(nodes)});
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
