// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/selection.h"
#include "rpc/identity.h"

namespace copse::ctl {
namespace {

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
                   context.client->CallForRows(PlannerAdmin::StreamNodes, PlannerAdmin::ListNodes, request));
  for (const v1::NodeRow& node : reply.nodes()) {
    if (!node.has_certificate_ends_s() || node.certificate_ends_s() > absl::ToDoubleSeconds(rpc::kEndsSoon)) continue;
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
  ASSIGN_OR_RETURN(const v1::ShowNodeReply reply, context.client->Call(PlannerAdmin::ShowNode, request));
  return context.Answer(RenderNode(reply, context.style));
}

// Waits until no process is attached to the node's daemon and no team has a rank there, or the daemon is gone.
absl::Status WaitUntilDrained(const std::string& node, VerbContext& context) {
  v1::ShowNodeRequest request;
  request.set_name(node);
  std::string seen;
  while (true) {
    const absl::StatusOr<v1::ShowNodeReply> reply = context.client->Call(PlannerAdmin::ShowNode, request);
    if (absl::IsNotFound(reply.status())) return absl::OkStatus();
    if (absl::IsDeadlineExceeded(reply.status())) {
      return absl::DeadlineExceededError(absl::StrCat("it drains still (", seen, "): ", reply.status().message()));
    }
    if (!reply.ok() && !absl::IsUnavailable(reply.status())) return reply.status();
    if (reply.ok()) {
      if (!reply->node().connected()) return absl::OkStatus();
      if (reply->answered() && reply->clients() == 0 && reply->teams() == 0) return absl::OkStatus();
      seen = absl::StrCat("node=", cli::Printable(node), ", clients=", reply->clients(), ", teams=", reply->teams());
      context.Note(absl::StrCat("waiting (", seen, ")"));
    }
    absl::SleepFor(kWaitPause);
  }
}

absl::Status Drain(const Arguments& arguments, VerbContext& context) {
  v1::DrainNodeRequest request;
  request.set_node(arguments.Text("node"));
  request.set_why(arguments.Text("why"));
  RETURN_IF_ERROR(context.client->Call(PlannerAdmin::DrainNode, request).status());
  const std::string name = cli::Printable(request.node());
  if (!arguments.Has("wait")) {
    return context.Answer({{"ok", true}, {"name", request.node()}, {"draining", true}},
                          absl::StrCat("node ", name, " takes no new teams\n"));
  }
  RETURN_IF_ERROR(WaitUntilDrained(request.node(), context));
  return context.Answer({{"ok", true}, {"name", request.node()}, {"draining", true}, {"drained", true}},
                        absl::StrCat("node ", name, " has no teams and no clients, and takes no new teams\n"));
}

absl::Status Undrain(const Arguments& arguments, VerbContext& context) {
  v1::DrainNodeRequest request;
  request.set_node(arguments.Text("node"));
  request.set_off(true);
  RETURN_IF_ERROR(context.client->Call(PlannerAdmin::DrainNode, request).status());
  return context.Answer({{"ok", true}, {"name", request.node()}, {"draining", false}},
                        absl::StrCat("node ", cli::Printable(request.node()), " takes new teams again\n"));
}

absl::Status Remove(const Arguments& arguments, VerbContext& context) {
  v1::RemoveNodeRequest request;
  request.set_node(arguments.Text("node"));
  RETURN_IF_ERROR(context.client->Call(PlannerAdmin::RemoveNode, request).status());
  return context.Answer(
      {{"ok", true}, {"name", request.node()}},
      absl::StrCat("node ", cli::Printable(request.node()), " is removed, and teams that it was in are broken\n"));
}

absl::Status DaemonStatus(const Arguments&, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::StatusAnswer answer, context.client->Call(DaemonAdmin::Status, {}));
  return context.Answer(RenderDaemonStatus(answer, context.style));
}

absl::StatusOr<v1::ChangeJobRequest> JobOf(const Arguments& arguments) {
  v1::RowSelector selector;
  RETURN_IF_ERROR(ReadSelector(arguments, &selector));
  if (!selector.has_uid()) return absl::InvalidArgumentError("--user: is not given, and says whose job it is");
  v1::ChangeJobRequest request;
  request.set_job(selector.job());
  request.set_uid(selector.uid());
  request.set_exclusive(arguments.Has("exclusive"));
  return request;
}

absl::Status BeginJob(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::ChangeJobRequest request, JobOf(arguments));
  RETURN_IF_ERROR(context.client->Call(DaemonAdmin::BeginJob, request).status());
  return context.Answer(Json{{"job", request.job()}, {"uid", request.uid()}, {"exclusive", request.exclusive()}},
                        absl::StrCat("job ", request.job(), " of user ", request.uid(), " has begun\n"));
}

absl::Status EndJob(const Arguments& arguments, VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::ChangeJobRequest request, JobOf(arguments));
  ASSIGN_OR_RETURN(const v1::ChangeJobReply reply, context.client->Call(DaemonAdmin::EndJob, request));
  return context.Answer(
      Json{{"job", request.job()}, {"uid", request.uid()}, {"clients", reply.clients()}},
      absl::StrCat("job ", request.job(), " of user ", request.uid(), " is ended (clients=", reply.clients(), ")\n"));
}

}  // namespace

std::string RenderNodes(const v1::ListNodesReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::NodeRow& node : reply.nodes()) json.push_back(NodeJson(node));
    return DumpJson(json);
  }
  const bool any_why = std::any_of(reply.nodes().begin(), reply.nodes().end(),
                                   [](const v1::NodeRow& node) { return !node.why().empty(); });
  cli::TableRows rows = {{"NAME", "STATE", "RANKS>", "CORES>", "MEMORY>", "LAST SEEN>", "VERSION", "ADDRESS"}};
  if (any_why) rows[0].push_back("WHY");
  for (const v1::NodeRow& node : reply.nodes()) {
    rows.push_back({node.name(), StateOf(node), absl::StrCat(node.ranks()), absl::StrCat(node.cores()),
                    Bytes(node.memory_limit_bytes()), LastSeen(node), node.version(), node.address()});
    if (any_why) rows.back().push_back(node.why().empty() ? "-" : node.why());
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
  if (!node.why().empty()) details.emplace_back("why", node.why());
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
    absl::StrAppend(&out, "\n", RenderCollectives(answer.collectives(), {}, style));
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
           .options = {{"wait", "", "until it has no teams and no clients, or --timeout is over"},
                       {"why", "TEXT", "the reason, which `node list` shows"}},
           .run = Drain},
          {.family = "node",
           .name = "undrain",
           .help = "let a node take new teams again",
           .positionals = {node},
           .run = Undrain},
          {.family = "node",
           .name = "remove",
           .help = "forget a node that is away and will not come back; breaks teams that it is in",
           .positionals = {node},
           .run = Remove},
          {.family = "daemon",
           .name = "status",
           .help = "the daemon whose own admin address --endpoint is: works while the planner is down",
           .run = DaemonStatus},
          {.family = "daemon",
           .name = "begin-job",
           .help = "tell the daemon that a job begins, as a prolog does; on its socket, or with a certificate",
           .positionals = {{.name = "job", .help = "the job, as `quota` shows it: slurm-17"}},
           .options = {{"user", "USER", "whose job it is: a name or an id"},
                       {"exclusive", "", "the job has the node for itself, and its user may have all"}},
           .run = BeginJob},
          {.family = "daemon",
           .name = "end-job",
           .help = "end all that the job holds there, as an epilog does",
           .positionals = {{.name = "job", .help = "the job, as `quota` shows it"}},
           .options = {{"user", "USER", "whose job it is: a name or an id"}},
           .run = EndJob}};
}

}  // namespace copse::ctl
