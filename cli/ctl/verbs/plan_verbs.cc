// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/plan_diff.h"
#include "cli/ctl/verbs/plan_figures.h"
#include "cli/ctl/verbs/plan_picture.h"
#include "cli/ctl/verbs/plan_size.h"
#include "cli/ctl/verbs/selection.h"

namespace copse::ctl {
namespace {

std::string SizeClass(const v1::PlanRow& plan) { return SizeClassOf(plan.bytes_min(), plan.bytes_max()); }

std::string Segments(const v1::PlanRow& plan) {
  return plan.segment_bytes() == 0 ? "-" : FormatBytes(plan.segment_bytes());
}

absl::Status List(const Arguments& arguments, VerbContext& context) {
  v1::ListPlansRequest request;
  request.set_measured(true);
  request.set_without_edges(context.style.format == Format::kTable);  // which has no room for them
  if (arguments.Has("team")) {
    ASSIGN_OR_RETURN(const uint64_t team, FindTeam(*context.client, arguments.Text("team")));
    request.set_team(team);
  }
  RETURN_IF_ERROR(ReadSelection(arguments, &request));
  ASSIGN_OR_RETURN(const v1::ListPlansReply reply,
                   context.client->CallForRows(PlannerAdmin::StreamPlans, PlannerAdmin::ListPlans, request));
  return context.Answer(RenderPlans(reply, context.style));
}

// Asks for the plan whose id is `text`.
absl::StatusOr<v1::PlanRow> ShownPlan(const std::string& text, AdminClient& client) {
  v1::ShowPlanRequest request;
  ASSIGN_OR_RETURN(const uint64_t id, ParseId("plan", text));
  request.set_id(id);
  request.set_measured(true);
  ASSIGN_OR_RETURN(v1::ShowPlanReply reply, client.Call(PlannerAdmin::ShowPlan, request));
  return std::move(*reply.mutable_plan());
}

absl::StatusOr<v1::ExplainPlanReply> Explained(uint64_t id, AdminClient& client) {
  v1::ExplainPlanRequest request;
  request.set_id(id);
  request.set_measured(true);
  return client.Call(PlannerAdmin::ExplainPlan, request);
}

absl::Status Show(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::PlanRow plan, ShownPlan(arguments.Text("plan"), *context.client));
  return context.Answer(RenderPlan(plan, context.style));
}

absl::Status Explain(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const uint64_t id, ParseId("plan", arguments.Text("plan")));
  ASSIGN_OR_RETURN(const v1::ExplainPlanReply reply, Explained(id, *context.client));
  return context.Answer(RenderExplanation(reply, arguments.Has("dot"), context.style));
}

// Returns the plan whose id is `text`, or else the one in the file named `text`.
absl::StatusOr<v1::PlanRow> PlanOf(const std::string& text, AdminClient& client) {
  if (IsNumber(text)) return ShownPlan(text, client);
  const std::optional<std::string> content = ReadFile(text, kPlanFileBytesMax);
  if (content.has_value()) return ParsePlanRow(*content, text);
  return absl::InvalidArgumentError(absl::StrCat("neither a plan's id nor a file that can be read (plan=", text, ")"));
}

absl::Status Diff(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::PlanRow before, PlanOf(arguments.Text("before"), *context.client));
  ASSIGN_OR_RETURN(const v1::PlanRow after, PlanOf(arguments.Text("after"), *context.client));
  return context.Answer(RenderPlanDifference(ComparePlans(before, after), context.style));
}

absl::Status Picture(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const uint64_t id, ParseId("plan", arguments.Text("plan")));
  ASSIGN_OR_RETURN(const v1::ExplainPlanReply reply, Explained(id, *context.client));
  v1::ShowTeamRequest team_request;
  team_request.set_id(reply.plan().team());
  ASSIGN_OR_RETURN(const v1::ShowTeamReply team, context.client->Call(PlannerAdmin::ShowTeam, team_request));
  const std::string svg = DrawPlan(reply, team.team());
  const std::string file = arguments.Text("output");
  if (file.empty()) return context.Answer({{"id", id}, {"svg", svg}}, svg);
  if (!WriteFile(file, svg)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot be written: ", std::strerror(errno), " (file=", file, ")"));
  }
  return context.Answer({{"id", id}, {"file", file}}, "");
}

}  // namespace

std::string RenderPlans(const v1::ListPlansReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::PlanRow& plan : reply.plans()) json.push_back(PlanJson(plan));
    return DumpJson(json);
  }
  cli::TableRows rows = {
      {"ID>", "TEAM>", "EPOCH>", "COLLECTIVE", "BYTES>", "ALGORITHM", "SEGMENT>", "PREDICTED>", "MEASURED>", "AT>"}};
  for (const v1::PlanRow& plan : reply.plans()) {
    rows.push_back({absl::StrCat(plan.id()), absl::StrCat(plan.team()), absl::StrCat(plan.epoch()), plan.collective(),
                    SizeClass(plan), plan.algorithm(), Segments(plan), Predicted(plan), Measured(plan),
                    PredictedAt(plan)});
  }
  AddReasons(reply.plans(), &rows);
  return cli::RenderTable(std::move(rows), style.width);
}

std::string RenderPlan(const v1::PlanRow& plan, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(PlanJson(plan));
  std::string out = cli::RenderDetails({{"id", absl::StrCat(plan.id())},
                                        {"team", absl::StrCat(plan.team())},
                                        {"epoch", absl::StrCat(plan.epoch())},
                                        {"collective", plan.collective()},
                                        {"bytes", SizeClass(plan)},
                                        {"algorithm", plan.algorithm()},
                                        {"segment", Segments(plan)},
                                        {"predicted", absl::StrCat(Predicted(plan), " for ", PredictedAt(plan))},
                                        {"critical path", absl::StrJoin(plan.critical_path(), " > ")}},
                                       style.width);
  absl::StrAppend(&out, MeasuredLine(plan));
  cli::TableRows edges = {{"FROM", "TO"}};
  for (const v1::PlanEdge& edge : plan.edges()) edges.push_back({edge.from(), edge.to()});
  return absl::StrCat(out, "\n", cli::RenderTable(std::move(edges), style.width));
}

std::string RenderExplanation(const v1::ExplainPlanReply& reply, bool dot, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = PlanJson(reply.plan());
    if (dot) json["dot"] = reply.dot();
    const Json more = Json::parse(reply.json(), nullptr, /*allow_exceptions=*/false);
    if (more.is_object()) {
      for (const auto& [key, value] : more.items()) {
        if (key == "critical_path") {
          json["critical_path_steps"] = value;
        } else if (!json.contains(key)) {
          json[key] = value;
        }
      }
    }
    return DumpJson(json);
  }
  if (dot) return cli::Printable(reply.dot(), true);
  return MeasuredLine(reply.plan()) + cli::CutLines(cli::Printable(reply.text(), true), style.width);
}

std::vector<Verb> PlanVerbs() {
  const cli::Parameter plan = {.name = "plan", .help = "the plan's id"};
  return {{.family = "plan",
           .name = "list",
           .help = "the plans of all teams",
           .options = WithSelection({{"team", "TEAM", "only of this team: its id or name"}}, /*owner=*/true, ""),
           .run = List},
          {.family = "plan", .name = "show", .help = "one plan and its edges", .positionals = {plan}, .run = Show},
          {.family = "plan",
           .name = "explain",
           .help = "draw a plan, with its predicted times and what they hang on",
           .positionals = {plan},
           .options = {{"dot", "", "as a graph for Graphviz"}},
           .run = Explain},
          {.family = "plan",
           .name = "diff",
           .help = "what makes two plans differ: edges and predicted times",
           .positionals = {{.name = "before", .help = "a plan's id, or a file that `plan show -w json` wrote"},
                           {.name = "after", .help = "likewise"}},
           .run = Diff},
          {.family = "plan",
           .name = "svg",
           .help = "a picture of a plan, with its predicted times",
           .positionals = {plan},
           .options = {{"output", "FILE", "where to; default standard output"}},
           .run = Picture}};
}

}  // namespace copse::ctl
