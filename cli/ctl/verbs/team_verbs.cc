// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/selection.h"

namespace copse::ctl {
namespace {

// NodeMembers holds a node's ranks of a team, in ascending order.
struct NodeMembers {
  std::string node;
  std::vector<uint32_t> ranks;
};
std::vector<NodeMembers> ByNode(const v1::TeamRow& team) {
  std::vector<NodeMembers> nodes;
  std::map<std::string, size_t> place;
  for (const v1::TeamMember& member : team.members()) {
    const auto [it, is_new] = place.try_emplace(member.node(), nodes.size());
    if (is_new) nodes.push_back({member.node(), {}});
    nodes[it->second].ranks.push_back(member.rank());
  }
  for (NodeMembers& node : nodes) std::sort(node.ranks.begin(), node.ranks.end());
  return nodes;
}

std::string NodeList(const v1::TeamRow& team) {
  std::vector<std::string> names;
  for (const NodeMembers& node : ByNode(team)) names.push_back(node.node);
  return names.empty() ? "-" : CompressHostlist(names);
}

// Returns whether the row is a derived team, which has the plans for further collectives. Older planners do not set its
// class.
bool IsDerivedTeam(const v1::TeamRow& team) { return !team.family().empty() && team.family() != "common"; }

// Renders what calls took that the plans serve; empty without plans.
std::string CallsTable(const PlanRows& plans, size_t width) {
  if (plans.empty()) return "";
  cli::TableRows rows = {{"COLLECTIVE", "AT>", "ALGORITHM", "PREDICTED>", "MEASURED>", "PLAN>"}};
  for (const v1::PlanRow& plan : plans) {
    rows.push_back({plan.collective(), PredictedAt(plan), plan.algorithm(), Predicted(plan), Measured(plan),
                    absl::StrCat(plan.id())});
  }
  AddReasons(plans, &rows);
  return absl::StrCat("\n", cli::RenderTable(std::move(rows), width));
}

// They are not known if too many daemons would have had to be asked.
std::string Calls(const v1::TeamRow& team) { return team.has_calls() ? absl::StrCat(team.calls()) : "-"; }

std::string IdOrDash(uint64_t id) { return id == 0 ? "-" : absl::StrCat(id); }

absl::Status List(const Arguments& arguments, VerbContext& context) {
  v1::ListTeamsRequest request;
  request.set_all(arguments.Has("all"));
  request.set_ended(arguments.Has("ended"));
  if (request.all() && request.ended()) return absl::InvalidArgumentError("--all and --ended exclude each other");
  RETURN_IF_ERROR(ReadSelection(arguments, &request));
  ASSIGN_OR_RETURN(const v1::ListTeamsReply reply,
                   context.client->CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  const auto& teams = reply.teams();
  if (!context.wants_json() && !request.ended() &&
      std::any_of(teams.begin(), teams.end(), [](const auto& team) { return !team.has_calls(); })) {
    context.notes.push_back(
        "calls in flight are not counted for teams on so many nodes: select some, or ask coll list");
  }
  return context.Answer(RenderTeams(reply, context.style));
}

absl::Status Show(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const uint64_t id, FindTeam(*context.client, arguments.Text("team")));
  v1::ShowTeamRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(const v1::ShowTeamReply reply, context.client->Call(PlannerAdmin::ShowTeam, request));
  const absl::StatusOr<PlanRows> plans = MeasuredPlans(id, *context.client);  // the team may end meanwhile
  return context.Answer(RenderTeam(reply.team(), plans.ok() ? *plans : PlanRows(), context.style));
}

absl::Status Replan(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const uint64_t id, FindTeam(*context.client, arguments.Text("team")));
  v1::ReplanTeamRequest request;
  request.set_team(id);
  request.set_algorithm(arguments.Text("algorithm"));
  request.set_collective(arguments.Text("collective"));
  context.Note(absl::StrCat("the planner makes plans, and team ", id, " is switched to them"));
  ASSIGN_OR_RETURN(const v1::ReplanTeamReply reply, context.client->Call(PlannerAdmin::ReplanTeam, request));
  return context.Answer({{"ok", true}, {"id", id}, {"epoch", reply.epoch()}},
                        absl::StrCat("team ", id, " runs epoch ", reply.epoch(), "\n"));
}

absl::Status Break(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const uint64_t id, FindTeam(*context.client, arguments.Text("team")));
  v1::BreakTeamRequest request;
  request.set_team(id);
  request.set_why(arguments.Text("why"));
  RETURN_IF_ERROR(context.client->Call(PlannerAdmin::BreakTeam, request).status());
  return context.Answer({{"ok", true}, {"id", id}}, absl::StrCat("team ", id, " is broken\n"));
}

// Returns the states of all teams with this id or name, or "gone" if there is none.
absl::StatusOr<std::set<std::string>> StatesOf(const std::string& wanted, AdminClient& client) {
  v1::ListTeamsRequest request;
  request.set_without_calls(true);
  ASSIGN_OR_RETURN(const v1::ListTeamsReply reply,
                   client.CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  std::set<std::string> states;
  for (const v1::TeamRow& team : reply.teams()) {
    if (IsNumber(wanted) ? absl::StrCat(team.id()) == wanted : team.name() == wanted) states.insert(team.state());
  }
  if (states.empty()) states.insert("gone");
  return states;
}

absl::Status Wait(const Arguments& arguments, VerbContext& context) {
  const std::string wanted = arguments.Text("state", "ready");
  if (wanted != "ready" && wanted != "broken" && wanted != "gone") {
    return absl::InvalidArgumentError(absl::StrCat("usage: unknown (state=", wanted, ", known=ready broken gone)"));
  }
  const std::string team = arguments.Text("team");
  std::set<std::string> states = {"unknown"};
  absl::Status unreachable;
  while (states.count(wanted) == 0) {
    const absl::StatusOr<std::set<std::string>> now = StatesOf(team, *context.client);
    if (absl::IsDeadlineExceeded(now.status())) {
      if (!unreachable.ok()) return unreachable;
      return absl::DeadlineExceededError(
          absl::StrCat("team ", team, ": not yet (state=", absl::StrJoin(states, ","), ", wanted=", wanted, ")"));
    }
    if (!now.ok() && !absl::IsUnavailable(now.status())) return now.status();
    unreachable = now.ok() ? absl::OkStatus() : now.status();
    if (now.ok()) states = *now;
    context.Note(absl::StrCat("waiting (state=", absl::StrJoin(states, ","), ", wanted=", wanted, ")"));
    if (states.count(wanted) == 0) absl::SleepFor(kWaitPause);
  }
  return context.Answer({{"ok", true}, {"team", team}, {"state", wanted}},
                        absl::StrCat("team ", cli::Printable(team), " is ", wanted, "\n"));
}

}  // namespace

std::string RenderTeams(const v1::ListTeamsReply& reply, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(reply.teams()));
  const bool any_why = std::any_of(reply.teams().begin(), reply.teams().end(),
                                   [](const v1::TeamRow& team) { return !team.why().empty(); });
  cli::TableRows rows = {{"ID>", "NAME", "SIZE>", "STATE", "EPOCH>", "CALLS>", "UID>", "JOB", "NODES"}};
  const bool any_derived = std::any_of(reply.teams().begin(), reply.teams().end(), IsDerivedTeam);
  const bool any_ended =
      std::any_of(reply.teams().begin(), reply.teams().end(), [](const v1::TeamRow& team) { return team.has_ended(); });
  if (any_ended) rows[0].push_back("ENDED");
  if (any_derived) rows[0].push_back("FAMILY");
  if (any_why) rows[0].push_back("WHY");
  for (const v1::TeamRow& team : reply.teams()) {
    std::vector<std::string> cells = {
        IdOrDash(team.id()),    team.name(), absl::StrCat(team.size()), team.state(),
        IdOrDash(team.epoch()), Calls(team), absl::StrCat(team.uid()),  team.job().empty() ? "-" : team.job(),
        NodeList(team)};
    if (any_ended) cells.push_back(team.has_ended() ? team.ended() : "-");
    if (any_derived) cells.push_back(IsDerivedTeam(team) ? team.family() : "-");
    if (any_why) cells.push_back(team.why());
    rows.push_back(std::move(cells));
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::string RenderTeam(const v1::TeamRow& team, const PlanRows& plans, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = ToJson(team);
    json["plans"] = Json::array();
    for (const v1::PlanRow& plan : plans) json["plans"].push_back(PlanJson(plan));
    return DumpJson(json);
  }
  cli::Details details = {{"id", IdOrDash(team.id())},         {"name", team.name()},
                          {"size", absl::StrCat(team.size())}, {"state", team.state()},
                          {"epoch", IdOrDash(team.epoch())},   {"calls in flight", Calls(team)},
                          {"uid", absl::StrCat(team.uid())},   {"job", team.job()},
                          {"parent", IdOrDash(team.parent())}};
  if (IsDerivedTeam(team)) details.emplace_back("family", team.family());
  if (!team.why().empty()) details.emplace_back("why", team.why());
  cli::TableRows members = {{"NODE", "RANKS"}};
  for (const NodeMembers& node : ByNode(team)) members.push_back({node.node, cli::FormatRanges(node.ranks)});
  return absl::StrCat(cli::RenderDetails(details, style.width), "\n", cli::RenderTable(std::move(members), style.width),
                      CallsTable(plans, style.width));
}

std::vector<Verb> TeamVerbs() {
  const cli::Parameter team = {.name = "team", .help = "the team's id, or its name if no other team has it"};
  return {{.family = "team",
           .name = "list",
           .help = "all teams",
           .options = WithSelection(
               {{"all", "", "their derived teams, too: plans for gather, alltoall and others, made on demand"},
                {"ended", "", "those that ended last, since this planner began to lead"}},
               /*owner=*/true, "forming, ready, broken; with --ended ended, broken"),
           .run = List},
          {.family = "team", .name = "show", .help = "one team and its members", .positionals = {team}, .run = Show},
          {.family = "team",
           .name = "replan",
           .help = "make new plans and switch the running team to them",
           .positionals = {team},
           .options = {{"algorithm", "NAME",
                        "flat, chain, binomial, knomial-K, kary-K, mgo, best, pipeline-K, dissemination, "
                        "recursive-doubling, hierarchical, "
                        "or another name of docs/reference/planning.md; without it the planner chooses"},
                       {"collective", "NAME",
                        "only this collective's plans take the algorithm: barrier, bcast, reduce, allreduce, "
                        "or another that the team has called"}},
           .timeout_s = 30,
           .run = Replan},
          {.family = "team",
           .name = "break",
           .help = "end all calls of a team, now and later, with an error",
           .positionals = {team},
           .options = {{"why", "TEXT", "what its members are told"}},
           .run = Break},
          {.family = "team",
           .name = "wait",
           .help = "wait until a team, given by id or name, is in a state",
           .positionals = {team},
           .options = {{"state", "STATE", "ready, broken or gone; default ready"}},
           .timeout_s = kTimeoutMaxSeconds,
           .run = Wait}};
}

}  // namespace copse::ctl
