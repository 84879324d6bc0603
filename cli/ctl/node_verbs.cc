// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/command_line/table.h"
#include "cli/ctl/message_json.h"
#include "cli/ctl/selection.h"

namespace copse::ctl {
namespace {

constexpr double kEndsSoonSeconds = 14 * 24 * 3600;

// Returns the node's state, with "away" in place of "ready" if its daemon is not connected to the planner.
std::string StateOf(const v1::NodeRow& node) {
  return node.state() == "ready" && !node.connected() ? "away" : node.state();
}

Json NodeJson(const v1::NodeRow& node) {
  Json json = ToJson(node);
  json["state"] = StateOf(node);
  return json;
}

std::string LastSeen(const v1::NodeRow& node) {
  return node.connected() ? "now" : absl::StrCat(cli::FormatSeconds(node.last_seen_s()), " ago");
}

std::string Bytes(uint64_t bytes) { return FormatBytes(static_cast<int64_t>(bytes)); }

void AppendCounters(const CounterMap& counters, cli::Details* details) {
  for (const auto& [name, value] : Sorted(counters)) details->emplace_back(name, absl::StrCat(value));
}

absl::Status List(const Arguments& arguments, VerbContext& context) {
  v1::ListNodesRequest request;
  RETURN_IF_ERROR(ReadSelection(arguments, &request));
  ASSIGN_OR_RETURN(const v1::ListNodesReply reply,
                   context.client->CallForRows(&PlannerAdmin::StreamNodes, &PlannerAdmin::ListNodes, request));
  for (const v1::NodeRow& node : reply.nodes()) {
    if (!node.has_certificate_ends_s() || node.certificate_ends_s() > kEndsSoonSeconds) continue;
    context.notes.push_back(node.certificate_ends_s() < 0
                                ? absl::StrCat("node ", cli::Printable(node.name()), ": its certificate has ended")
                                : absl::StrCat("node ", cli::Printable(node.name()), ": its certificate ends in ",
                                               cli::FormatSeconds(node.certificate_ends_s())));
  }
  return context.Answer(RenderNodes(reply, context.style));
}

absl::Status Show(const Arguments& arguments, VerbContext& context) {
  v1::ShowNodeRequest request;
  request.set_name(arguments.Text("node"));
  ASSIGN_OR_RETURN(const v1::ShowNodeReply reply, context.client->Call(&PlannerAdmin::ShowNode, request));
  return context.Answer(RenderNode(reply, context.style));
}

absl::Status Drain(const Arguments& arguments, VerbContext& context, bool off) {
  v1::DrainNodeRequest request;
  request.set_node(arguments.Text("node"));
  request.set_off(off);
  RETURN_IF_ERROR(context.client->Call(&PlannerAdmin::DrainNode, request).status());
  return context.Answer({{"ok", true}, {"name", request.node()}, {"draining", !off}},
                        absl::StrCat("node ", cli::Printable(request.node()),
                                     off ? " takes new teams again\n" : " takes no new teams\n"));
}

absl::Status Remove(const Arguments& arguments, VerbContext& context) {
  v1::RemoveNodeRequest request;
  request.set_node(arguments.Text("node"));
  RETURN_IF_ERROR(context.client->Call(&PlannerAdmin::RemoveNode, request).status());
  return context.Answer(
      {{"ok", true}, {"name", request.node()}},
      absl::StrCat("node ", cli::Printable(request.node()), " is removed, and teams that it was in are broken\n"));
}

absl::Status DaemonStatus(const Arguments&, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::StatusAnswer answer, context.client->Call(&DaemonAdmin::Status, {}));
  return context.Answer(RenderDaemonStatus(answer, context.style));
}

}  // namespace

std::string RenderNodes(const v1::ListNodesReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::NodeRow& node : reply.nodes()) json.push_back(NodeJson(node));
    return DumpJson(json);
  }
  cli::TableRows rows = {{"NAME", "STATE", "RANKS>", "CORES>", "MEMORY>", "LAST SEEN>", "VERSION", "ADDRESS"}};
  for (const v1::NodeRow& node : reply.nodes()) {
    rows.push_back({node.name(), StateOf(node), absl::StrCat(node.ranks()), absl::StrCat(node.cores()),
                    Bytes(node.memory_limit_bytes()), LastSeen(node), node.version(), node.address()});
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::string RenderNode(const v1::ShowNodeReply& reply, const Style& style) {
  const v1::NodeRow& node = reply.node();
  if (style.format == Format::kJson) {
    Json json = NodeJson(node);
    json["answered"] = reply.answered();
    if (reply.answered()) {
      json["clients"] = reply.clients();
      json["teams"] = reply.teams();
      json["counters"] = Sorted(reply.counters());
    }
    return DumpJson(json);
  }
  cli::Details details = {{"name", node.name()},
                          {"state", StateOf(node)},
                          {"incarnation", absl::StrCat(node.incarnation())},
                          {"address", node.address()},
                          {"version", node.version()},
                          {"ranks", absl::StrCat(node.ranks())},
                          {"cores", absl::StrCat(node.cores())},
                          {"memory limit", Bytes(node.memory_limit_bytes())},
                          {"last seen", LastSeen(node)}};
  if (reply.answered()) {
    details.emplace_back("clients", absl::StrCat(reply.clients()));
    details.emplace_back("teams", absl::StrCat(reply.teams()));
    AppendCounters(reply.counters(), &details);
  } else {
    details.emplace_back("daemon", "did not answer");
  }
  return cli::RenderDetails(details, style.width);
}

std::string RenderDaemonStatus(const v1::StatusAnswer& answer, const Style& style) {
  if (style.format == Format::kJson) return DumpJson(ToJson(answer));
  cli::Details details = {
      {"node", answer.node()},
      {"incarnation", absl::StrCat(answer.incarnation())},
      {"state", answer.state()},
      {"planner", absl::StrCat(answer.planner(), answer.planner_connected() ? ", connected" : ", not connected")},
      {"clients", absl::StrCat(answer.clients())},
      {"ranks", absl::StrCat(answer.ranks())},
      {"teams", absl::StrCat(answer.teams())}};
  if (!answer.planner_refusal().empty()) details.emplace_back("refusal", answer.planner_refusal());
  AppendCounters(answer.counters(), &details);
  std::string out = cli::RenderDetails(details, style.width);
  if (answer.collectives_size() > 0) {
    absl::StrAppend(&out, "\n", RenderCollectives(answer.collectives(), style));
  }
  return out;
}

std::vector<Verb> NodeVerbs() {
  const cli::Parameter node = {.name = "node", .help = "the node's name"};
  return {{.family = "node",
           .name = "list",
           .help = "nodes that registered",
           .options = WithSelection({}, /*owner=*/false, "ready, draining, away, lost"),
           .run = List},
          {.family = "node",
           .name = "show",
           .help = "one node, and what its daemon says",
           .positionals = {node},
           .run = Show},
          {.family = "node",
           .name = "drain",
           .help = "let a node take no new teams; those it has go on",
           .positionals = {node},
           .run = [](const Arguments& a, VerbContext& s) { return Drain(a, s, false); }},
          {.family = "node",
           .name = "undrain",
           .help = "let a node take new teams again",
           .positionals = {node},
           .run = [](const Arguments& a, VerbContext& s) { return Drain(a, s, true); }},
          {.family = "node",
           .name = "remove",
           .help = "forget a node that is away and will not come back; breaks teams that it is in",
           .positionals = {node},
           .run = Remove},
          {.family = "daemon",
           .name = "status",
           .help = "the daemon whose own admin address --endpoint is: works while the planner is down",
           .run = DaemonStatus}};
}

}  // namespace copse::ctl
