// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/stats_verbs.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/ctl/counters.h"
#include "cli/ctl/table.h"

namespace copse::ctl {
namespace {

constexpr char kNode[] = "node";

absl::Status Stats(const Arguments& arguments, VerbContext& context) {
  v1::GetStatsRequest request;
  request.set_node(arguments.Text(kNode));
  request.set_timeout_s(absl::ToDoubleSeconds(context.client->TimeForOthers()));
  ASSIGN_OR_RETURN(const v1::GetStatsReply reply, context.client->GetStats(request));
  context.out = RenderStats(reply, context.style);
  if (reply.silent_size() == 0) return absl::OkStatus();
  const std::string nodes = CompressHostlist(std::vector<std::string>(reply.silent().begin(), reply.silent().end()));
  if (arguments.Has(kNode)) {
    return absl::DeadlineExceededError(absl::StrCat("the daemon does not answer (node=", nodes, ")"));
  }
  context.notes.push_back(absl::StrCat("no answer from some daemons (nodes=", nodes, ")"));
  return absl::OkStatus();
}

absl::Status Ping(const Arguments& arguments, VerbContext& context) {
  v1::PingRequest request;
  request.set_proto_version(kProtoVersion);
  request.set_node(arguments.Text(kNode));
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const v1::PingReply reply, context.client->Ping(request));
  const auto round_trip = absl::FromChrono(std::chrono::steady_clock::now() - start);
  context.out = RenderPing(reply, request.node(), round_trip, context.style);
  return reply.ok() ? absl::OkStatus() : absl::UnknownError("the server says that it is not well");
}

absl::Status Version(const Arguments& arguments, VerbContext& context) {
  v1::VersionRequest request;
  request.set_node(arguments.Text(kNode));
  ASSIGN_OR_RETURN(const v1::VersionReply reply, context.client->Version(request));
  context.out = RenderVersion(reply, context.style);
  return absl::OkStatus();
}

}  // namespace

std::string RenderStats(const v1::GetStatsReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::NodeStats& stats : reply.stats()) {
      json.push_back({{"node", stats.node()}, {"counters", ToJson(Sorted(stats.counters()))}});
    }
    return DumpJson(json);
  }
  Table table({{"NODE"}, {"COUNTER"}, {"VALUE", Table::Align::kRight}});
  for (const v1::NodeStats& stats : reply.stats()) {
    for (const auto& [name, value] : Sorted(stats.counters())) {
      if (value != 0) table.AddRow({stats.node(), name, absl::StrCat(value)});
    }
  }
  return table.Render(style.width);
}

std::string RenderPing(const v1::PingReply& reply, const std::string& node, absl::Duration round_trip,
                       const Style& style) {
  const double round_trip_ms = absl::ToDoubleMilliseconds(round_trip);
  if (style.format == Format::kJson) {
    Json json = {{"ok", reply.ok()},
                 {"version", reply.version()},
                 {"latency_ms", reply.latency_ms()},
                 {"round_trip_ms", round_trip_ms}};
    if (!node.empty()) json[kNode] = node;
    return DumpJson(json);
  }
  std::string out = absl::StrFormat("%s: %s, version %s, %.2f ms", node.empty() ? "planner" : Printable(node),
                                    reply.ok() ? "ok" : "not ok", Printable(reply.version()), round_trip_ms);
  if (!node.empty()) {
    absl::StrAppendFormat(&out, " (%.2f ms from planner to daemon and back)", reply.latency_ms());
  }
  return out + "\n";
}

std::string RenderVersion(const v1::VersionReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    return DumpJson({{"ok", reply.ok()},
                     {"version", reply.version()},
                     {"program", reply.program()},
                     {"ring", reply.ring()},
                     {"packet", reply.packet()},
                     {"proto", reply.proto()},
                     {"plan", reply.plan()},
                     {"copsectl", {{"version", kVersion}, {"proto", kProtoVersion}}}});
  }
  Table table({{"PROGRAM"}, {"VERSION"}, {"RING"}, {"PACKET"}, {"PROTO"}, {"PLAN"}});
  table.AddRow({reply.program(), reply.version(), absl::StrCat(reply.ring()), absl::StrCat(reply.packet()),
                absl::StrCat(reply.proto()), absl::StrCat(reply.plan())});
  table.AddRow({"copsectl", kVersion, "-", "-", absl::StrCat(kProtoVersion), "-"});
  return table.Render(style.width);
}

std::vector<Verb> StatsVerbs() {
  return {{.name = "stats",
           .help = "counters of all daemons, or of one",
           .options = {{kNode, "NAME", "only this node's"}},
           .run = Stats},
          {.name = "ping",
           .help = "does the planner answer, or through it a daemon?",
           .options = {{kNode, "NAME", "this node's daemon"}},
           .run = Ping},
          {.name = "version",
           .help = "versions of copsectl and of the planner, or a daemon",
           .options = {{kNode, "NAME", "this node's daemon"}},
           .run = Version}};
}

}  // namespace copse::ctl
