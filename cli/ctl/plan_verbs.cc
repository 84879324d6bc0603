// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/plan_verbs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/ctl/plan_diff.h"
#include "cli/ctl/plan_picture.h"
#include "cli/ctl/plan_size.h"
#include "cli/ctl/table.h"

namespace copse::ctl {
namespace {

Json ToJson(const v1::PlanRow& plan) {
  Json edges = Json::array();
  for (const v1::PlanEdge& edge : plan.edges()) {
    edges.push_back(Json::array({edge.from(), edge.to()}));
  }
  Json path = Json::array();
  for (const std::string& node : plan.critical_path()) path.push_back(node);
  return {{"id", plan.id()},
          {"team", plan.team()},
          {"collective", plan.collective()},
          {"bytes_min", plan.bytes_min()},
          {"bytes_max", plan.bytes_max()},
          {"algorithm", plan.algorithm()},
          {"epoch", plan.epoch()},
          {"predicted_us", plan.predicted_us()},
          {"segment_bytes", plan.segment_bytes()},
          {"edges", std::move(edges)},
          {"critical_path", std::move(path)}};
}

std::string SizeClass(const v1::PlanRow& plan) { return SizeClassOf(plan.bytes_min(), plan.bytes_max()); }

std::string Predicted(const v1::PlanRow& plan) { return absl::StrFormat("%.1f us", plan.predicted_us()); }

std::string Segments(const v1::PlanRow& plan) {
  return plan.segment_bytes() == 0 ? "-" : FormatBytes(plan.segment_bytes());
}

absl::Status List(const Arguments& arguments, VerbContext& context) {
  v1::ListPlansRequest request;
  if (arguments.Has("team")) {
    ASSIGN_OR_RETURN(const uint64_t team, FindTeam(*context.client, arguments.Text("team")));
    request.set_team(team);
  }
  ASSIGN_OR_RETURN(const v1::ListPlansReply reply, context.client->ListPlans(request));
  context.out = RenderPlans(reply, context.style);
  return absl::OkStatus();
}

absl::Status Show(const Arguments& arguments, VerbContext& context) {
  v1::ShowPlanRequest request;
  ASSIGN_OR_RETURN(const uint64_t id, arguments.Id("plan"));
  request.set_id(id);
  ASSIGN_OR_RETURN(const v1::ShowPlanReply reply, context.client->ShowPlan(request));
  context.out = RenderPlan(reply.plan(), context.style);
  return absl::OkStatus();
}

absl::Status Explain(const Arguments& arguments, VerbContext& context) {
  v1::ExplainPlanRequest request;
  ASSIGN_OR_RETURN(const uint64_t id, arguments.Id("plan"));
  request.set_id(id);
  ASSIGN_OR_RETURN(const v1::ExplainPlanReply reply, context.client->ExplainPlan(request));
  context.out = RenderExplanation(reply, arguments.Has("dot"), context.style);
  return absl::OkStatus();
}

// Returns the plan with this id, or from this file.
absl::StatusOr<v1::PlanRow> PlanOf(const std::string& text, AdminClient& client) {
  const bool is_id =
      !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
  if (is_id) {
    v1::ShowPlanRequest request;
    ASSIGN_OR_RETURN(const uint64_t id, ParseId("plan", text));
    request.set_id(id);
    ASSIGN_OR_RETURN(v1::ShowPlanReply reply, client.ShowPlan(request));
    return std::move(*reply.mutable_plan());
  }
  std::ifstream stream(text, std::ios::binary);
  std::string content;
  constexpr size_t kPiece = 1 << 20;
  while (stream && content.size() <= kPlanFileBytesMax) {
    const size_t before = content.size();
    content.resize(before + kPiece);
    stream.read(content.data() + before, kPiece);
    content.resize(before + static_cast<size_t>(stream.gcount()));
  }
  if (!stream.eof() && content.size() <= kPlanFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("neither a plan's id nor a file that can be read (plan=", text, ")"));
  }
  return ParsePlanRow(content, text);
}

absl::Status Diff(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::PlanRow before, PlanOf(arguments.Text("before"), *context.client));
  ASSIGN_OR_RETURN(const v1::PlanRow after, PlanOf(arguments.Text("after"), *context.client));
  context.out = RenderPlanDifference(ComparePlans(before, after), context.style);
  return absl::OkStatus();
}

absl::Status Picture(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const uint64_t id, arguments.Id("plan"));
  v1::ExplainPlanRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(const v1::ExplainPlanReply reply, context.client->ExplainPlan(request));
  v1::ShowTeamRequest team_request;
  team_request.set_id(reply.plan().team());
  ASSIGN_OR_RETURN(const v1::ShowTeamReply team, context.client->ShowTeam(team_request));
  const std::string svg = DrawPlan(reply, team.team());
  const std::string file = arguments.Text("output");
  const bool is_json = context.style.format == Format::kJson;
  if (file.empty()) {
    context.out = is_json ? DumpJson({{"id", id}, {"svg", svg}}) : svg;
    return absl::OkStatus();
  }
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << svg;
  stream.close();
  if (!stream) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot be written: ", std::strerror(errno), " (file=", file, ")"));
  }
  context.out = is_json ? DumpJson({{"id", id}, {"file", file}}) : "";
  return absl::OkStatus();
}

}  // namespace

std::string RenderPlans(const v1::ListPlansReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::PlanRow& plan : reply.plans()) json.push_back(ToJson(plan));
    return DumpJson(json);
  }
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"ID", kRight},
               {"TEAM", kRight},
               {"EPOCH", kRight},
               {"COLLECTIVE"},
               {"BYTES", kRight},
               {"ALGORITHM"},
               {"SEGMENT", kRight},
               {"PREDICTED", kRight}});
  for (const v1::PlanRow& plan : reply.plans()) {
    table.AddRow({absl::StrCat(plan.id()), absl::StrCat(plan.team()), absl::StrCat(plan.epoch()), plan.collective(),
                  SizeClass(plan), plan.algorithm(), Segments(plan), Predicted(plan)});
  }
  return table.Render(style.width);
}

std::string RenderPlan(const v1::PlanRow& plan, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(plan));
  std::string out = RenderDetails({{"id", absl::StrCat(plan.id())},
                                   {"team", absl::StrCat(plan.team())},
                                   {"epoch", absl::StrCat(plan.epoch())},
                                   {"collective", plan.collective()},
                                   {"bytes", SizeClass(plan)},
                                   {"algorithm", plan.algorithm()},
                                   {"segment", Segments(plan)},
                                   {"predicted", Predicted(plan)},
                                   {"critical path", absl::StrJoin(plan.critical_path(), " > ")}},
                                  style.width);
  Table edges({{"FROM"}, {"TO"}});
  for (const v1::PlanEdge& edge : plan.edges()) edges.AddRow({edge.from(), edge.to()});
  return absl::StrCat(out, "\n", edges.Render(style.width));
}

std::string RenderExplanation(const v1::ExplainPlanReply& reply, bool dot, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = ToJson(reply.plan());
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
  if (dot) return Printable(reply.dot(), true);
  return CutLines(Printable(reply.text(), true), style.width);
}

std::vector<Verb> PlanVerbs() {
  const Parameter plan = {.name = "plan", .help = "the plan's id"};
  return {{.family = "plan",
           .name = "list",
           .help = "the plans of all teams",
           .options = {{"team", "TEAM", "only of this team: its id or name"}},
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
