// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/verbs.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/histogram.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/client/latencies.h"
#include "cli/client/message_json.h"
#include "cli/client/node_counters.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/selection.h"
#include "cli/ctl/verbs/stats_summary.h"
#include "collectives/collective.h"

namespace copse::ctl {
namespace {

constexpr char kNode[] = "node";
constexpr char kPlanner[] = "planner";
constexpr char kHistograms[] = "histograms";
constexpr char kRaw[] = "raw";
constexpr char kWatch[] = "watch";
constexpr char kTeam[] = "team";
constexpr char kCollective[] = "collective";
constexpr double kWatchSecondsMin = 0.1;
constexpr double kWatchSecondsMax = 86400;

// Formats the size class as "8-15", or as "0" if both bounds are equal.
std::string FormatClass(const LatencyKey& key) {
  return key.bytes_min == key.bytes_max ? absl::StrCat(key.bytes_min) : absl::StrCat(key.bytes_min, "-", key.bytes_max);
}

void AppendPercentiles(const Histogram& histogram, std::vector<std::string>* cells) {
  cells->push_back(absl::StrCat(histogram.count()));
  for (const auto& [name, p] : kPercentiles) {
    cells->push_back(cli::FormatNanoseconds(static_cast<double>(histogram.Percentile(p))));
  }
  cells->push_back(cli::FormatNanoseconds(static_cast<double>(histogram.max())));
}

// Returns the planner's counters as those of a node of this name.
v1::GetStatsReply AsNode(const v1::GetPlannerStatsReply& reply) {
  v1::GetStatsReply stats;
  v1::NodeStats* row = stats.add_stats();
  row->set_node(kPlanner);
  *row->mutable_counters() = reply.counters();
  return stats;
}

absl::StatusOr<v1::GetStatsReply> AskPlannerStats(VerbContext& context) {
  ASSIGN_OR_RETURN(const v1::GetPlannerStatsReply reply, context.client->Call(PlannerAdmin::GetPlannerStats, {}));
  return AsNode(reply);
}

absl::StatusOr<v1::GetStatsReply> AskStats(const v1::GetStatsRequest& request, VerbContext& context) {
  ASSIGN_OR_RETURN(v1::GetStatsReply reply,
                   context.client->CallForRows(PlannerAdmin::StreamStats, PlannerAdmin::GetStats, request));
  if (request.node().empty() || reply.silent_size() == 0) return reply;
  return absl::DeadlineExceededError(absl::StrCat("the daemon does not answer (node=", request.node(), ")"));
}

// Prints changes at intervals, first after one interval, until the output is closed or a call fails.
absl::Status Watch(const Arguments& arguments, const std::function<absl::StatusOr<v1::GetStatsReply>()>& ask,
                   VerbContext& context) {
  double seconds = 0;
  if (!absl::SimpleAtod(arguments.Text(kWatch), &seconds) ||
      !(seconds >= kWatchSecondsMin && seconds <= kWatchSecondsMax)) {
    return absl::InvalidArgumentError(absl::StrFormat("not a number of seconds (%s=%s, limits=%g to %g)", kWatch,
                                                      arguments.Text(kWatch), kWatchSecondsMin, kWatchSecondsMax));
  }
  if (arguments.Has(kHistograms)) return absl::InvalidArgumentError("--watch and --histograms exclude each other");
  auto asked = std::chrono::steady_clock::now();
  const auto start = asked;
  ASSIGN_OR_RETURN(v1::GetStatsReply before, ask());
  for (int round = 1;; ++round) {
    // Intervals are counted from the first query, so that the duration of queries does not lengthen them.
    std::this_thread::sleep_until(start + absl::ToChronoNanoseconds(absl::Seconds(seconds) * round));
    const auto now = std::chrono::steady_clock::now();
    const absl::Duration apart = absl::FromChrono(now - asked);
    context.client->Extend(apart);
    ASSIGN_OR_RETURN(v1::GetStatsReply after, ask());
    if (!context.print(RenderChanges(before, after, apart, context.style))) return absl::OkStatus();
    asked = now;
    before = std::move(after);
  }
}

// Selects the nodes of the team. Their daemons measure the calls of all their teams together.
absl::Status SelectTeam(const Arguments& arguments, VerbContext& context, v1::GetStatsRequest* request) {
  if (arguments.Has(kNode)) return absl::InvalidArgumentError("--team and --node exclude each other");
  v1::ShowTeamRequest show;
  ASSIGN_OR_RETURN(const uint64_t id, FindTeam(*context.client, arguments.Text(kTeam)));
  show.set_id(id);
  ASSIGN_OR_RETURN(const v1::ShowTeamReply reply, context.client->Call(PlannerAdmin::ShowTeam, show));
  std::set<std::string> nodes;
  for (const v1::TeamMember& member : reply.team().members()) nodes.insert(member.node());
  request->mutable_selector()->set_nodes(CompressHostlist({nodes.begin(), nodes.end()}));
  context.notes.push_back(
      absl::StrCat("calls of other teams at these nodes count, too (nodes=", request->selector().nodes(), ")"));
  return absl::OkStatus();
}

std::string CollectiveNames() {
  std::vector<std::string_view> names;
  for (const CollectiveTraits& traits : kCollectives) names.push_back(traits.name);
  return absl::StrJoin(names, ",", [](std::string* out, std::string_view name) { out->append(name); });
}

// Drops the histograms of other collectives.
void KeepCollective(const std::string& collective, v1::GetStatsReply* reply) {
  for (v1::NodeStats& stats : *reply->mutable_stats()) {
    auto* const rows = stats.mutable_latencies();
    rows->erase(std::remove_if(rows->begin(), rows->end(),
                               [&](const v1::LatencyRow& row) { return row.collective() != collective; }),
                rows->end());
  }
}

absl::Status PlannerStats(const Arguments& arguments, VerbContext& context) {
  if (arguments.Has(kNode)) return absl::InvalidArgumentError("--planner and --node exclude each other");
  if (arguments.Has(kWatch)) {
    return Watch(
        arguments, [&context] { return AskPlannerStats(context); }, context);
  }
  ASSIGN_OR_RETURN(const v1::GetPlannerStatsReply reply, context.client->Call(PlannerAdmin::GetPlannerStats, {}));
  return context.Answer(arguments.Has(kHistograms) ? RenderPlannerHistograms(reply, context.style)
                                                   : RenderStats(AsNode(reply), context.style));
}

absl::Status Stats(const Arguments& arguments, VerbContext& context) {
  if (arguments.Has(kRaw) && arguments.Has(kHistograms)) {
    return absl::InvalidArgumentError("--raw and --histograms exclude each other");
  }
  for (const char* option : {kTeam, kCollective}) {
    if (arguments.Has(option) && (!arguments.Has(kHistograms) || arguments.Has(kPlanner))) {
      return absl::InvalidArgumentError(absl::StrCat("--", option, " is for --histograms of daemons"));
    }
  }
  if (arguments.Has(kCollective) && !CollectiveFromName(arguments.Text(kCollective)).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("--collective: none has this name (collective=",
                                                   arguments.Text(kCollective), ", names=", CollectiveNames(), ")"));
  }
  if (arguments.Has(kPlanner)) return PlannerStats(arguments, context);
  v1::GetStatsRequest request;
  if (arguments.Has(kTeam)) RETURN_IF_ERROR(SelectTeam(arguments, context, &request));
  // One name is what planners of all versions understand. It must be known.
  if (arguments.Text(kNode).find_first_of("[,") == std::string::npos) {
    request.set_node(arguments.Text(kNode));
  } else {
    RETURN_IF_ERROR(ReadSelection(arguments, &request));
  }
  request.set_timeout_s(absl::ToDoubleSeconds(context.client->TimeForOthers()));
  request.set_latencies(arguments.Has(kHistograms));
  if (arguments.Has(kWatch)) {
    return Watch(
        arguments, [&] { return AskStats(request, context); }, context);
  }
  ASSIGN_OR_RETURN(v1::GetStatsReply reply, AskStats(request, context));
  if (arguments.Has(kCollective)) KeepCollective(arguments.Text(kCollective), &reply);
  if (request.latencies()) {
    context.out = RenderLatencies(reply, context.style);
  } else if (arguments.Has(kRaw) || context.style.format == Format::kJson) {
    context.out = RenderStats(reply, context.style);
  } else {
    context.out = RenderStatsSummary(reply, context.style.width);
  }
  if (const double age_s = OldestReportS(reply); age_s > 0) {
    context.notes.push_back(
        absl::StrFormat("these are many daemons, which were not asked: they reported this (age_max_s=%.0f)", age_s));
  }
  if (reply.silent_size() == 0) return absl::OkStatus();
  const std::string nodes = CompressHostlist(std::vector<std::string>(reply.silent().begin(), reply.silent().end()));
  context.notes.push_back(absl::StrCat("no answer from some daemons (nodes=", nodes, ")"));
  return absl::OkStatus();
}

absl::Status Ping(const Arguments& arguments, VerbContext& context) {
  v1::PingRequest request;
  request.set_proto_version(kProtoVersion);
  request.set_node(arguments.Text(kNode));
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const v1::PingReply reply, context.client->Call(PlannerAdmin::Ping, request));
  const auto round_trip = absl::FromChrono(std::chrono::steady_clock::now() - start);
  context.out = RenderPing(reply, request.node(), round_trip, context.style);
  return reply.ok() ? absl::OkStatus() : absl::UnknownError("the server says that it is not well");
}

absl::Status Version(const Arguments& arguments, VerbContext& context) {
  v1::VersionRequest request;
  request.set_node(arguments.Text(kNode));
  ASSIGN_OR_RETURN(const v1::VersionReply reply, context.client->Call(PlannerAdmin::Version, request));
  return context.Answer(RenderVersion(reply, context.style));
}

}  // namespace

std::string RenderStats(const v1::GetStatsReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::NodeStats& stats : reply.stats()) {
      json.push_back({{"node", stats.node()}, {"counters", Sorted(stats.counters())}});
      if (stats.has_age_s()) json.back()["age_s"] = stats.age_s();
    }
    return DumpJson(json);
  }
  cli::TableRows rows = {{"NODE", "COUNTER", "VALUE>"}};
  for (const v1::NodeStats& stats : reply.stats()) {
    for (const auto& [name, value] : Sorted(stats.counters())) {
      if (value != 0) rows.push_back({stats.node(), name, absl::StrCat(value)});
    }
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::string RenderChanges(const v1::GetStatsReply& before, const v1::GetStatsReply& after, absl::Duration apart,
                          const Style& style) {
  std::map<std::string, const v1::NodeStats*> old;
  for (const v1::NodeStats& stats : before.stats()) old[stats.node()] = &stats;
  Json json = Json::array();
  cli::TableRows rows = {{"NODE", "COUNTER", "VALUE>", "CHANGE>", "A SECOND>"}};
  for (const v1::NodeStats& stats : after.stats()) {
    const auto node = old.find(stats.node());
    if (node == old.end()) continue;  // not in the previous reply
    std::map<std::string, uint64_t> was = Sorted(node->second->counters());
    const double seconds = SecondsBetween(*node->second, stats, absl::ToDoubleSeconds(apart));
    Json changes = Json::object();
    for (const auto& [name, value] : Sorted(stats.counters())) {
      // The unsigned difference wraps, so that a decrease becomes a negative change: some values are not sums, and a
      // restarted daemon counts from 0 again.
      const auto change = static_cast<int64_t>(value - was[name]);
      if (change == 0) continue;
      changes[name] = change;
      rows.push_back({stats.node(), name, absl::StrCat(value), absl::StrCat(change),
                      absl::StrFormat("%.4g", static_cast<double>(change) / seconds)});
    }
    json.push_back(
        {{"node", stats.node()}, {"seconds", seconds}, {"counters", Sorted(stats.counters())}, {"changes", changes}});
  }
  if (style.format == Format::kJson) return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return cli::RenderTable(std::move(rows), style.width) + "\n";
}

std::string RenderLatencies(const v1::GetStatsReply& reply, const Style& style) {
  const std::map<LatencyKey, Histogram> latencies = Latencies(reply);
  if (style.format == Format::kJson) {
    Json json = Json::array();
    for (const v1::NodeStats& stats : reply.stats()) {
      Json rows = Json::array();
      for (const auto& [key, histogram] : latencies) {
        if (key.node == stats.node()) rows.push_back(LatencyJson(key, histogram));
      }
      json.push_back({{"node", stats.node()}, {"counters", Sorted(stats.counters())}, {"latencies", rows}});
    }
    return DumpJson(json);
  }
  cli::TableRows rows = {{"COLLECTIVE", "BYTES", "PART", "NODE", "COUNT>", "P50>", "P90>", "P99>", "MAX>"}};
  for (const auto& [key, histogram] : latencies) {
    std::vector<std::string> cells = {key.collective, FormatClass(key), key.part,
                                      key.node == kAllNodes ? "all" : key.node};
    AppendPercentiles(histogram, &cells);
    rows.push_back(std::move(cells));
  }
  return cli::RenderTable(std::move(rows), style.width);
}

std::string RenderPlannerHistograms(const v1::GetPlannerStatsReply& reply, const Style& style) {
  Json json = {{"node", kPlanner}, {"counters", Sorted(reply.counters())}, {"latencies", Json::array()}};
  cli::TableRows rows = {{"PART", "COUNT>", "P50>", "P90>", "P99>", "MAX>"}};
  for (const auto& [part, row] : {std::pair("turn", &reply.turns()), std::pair("formation", &reply.formations())}) {
    const std::optional<Histogram> histogram = Restored(*row);
    if (!histogram.has_value()) continue;
    Json latency = {{"part", part}};
    latency.update(PercentilesJson(*histogram));
    json["latencies"].push_back(std::move(latency));
    rows.push_back({part});
    AppendPercentiles(*histogram, &rows.back());
  }
  return style.format == Format::kJson ? DumpJson(Json::array({json})) : cli::RenderTable(std::move(rows), style.width);
}

std::string RenderPing(const v1::PingReply& reply, const std::string& node, absl::Duration round_trip,
                       const Style& style) {
  const double round_trip_ms = absl::ToDoubleMilliseconds(round_trip);
  if (style.format == Format::kJson) {
    Json json = ToJson(reply);
    json["round_trip_ms"] = round_trip_ms;
    if (!node.empty()) json[kNode] = node;
    return DumpJson(json);
  }
  std::string out = absl::StrFormat("%s: %s, version %s, %.2f ms", node.empty() ? "planner" : cli::Printable(node),
                                    reply.ok() ? "ok" : "not ok", cli::Printable(reply.version()), round_trip_ms);
  if (!node.empty()) {
    absl::StrAppendFormat(&out, " (%.2f ms from planner to daemon and back)", reply.latency_ms());
  }
  return out + "\n";
}

std::string RenderVersion(const v1::VersionReply& reply, const Style& style) {
  if (style.format == Format::kJson) {
    Json json = ToJson(reply);
    json["copsectl"] = {{"version", kVersion}, {"proto", kProtoVersion}};
    return DumpJson(json);
  }
  cli::TableRows rows = {{"PROGRAM", "VERSION", "RING", "PACKET", "PROTO", "PLAN"},
                         {reply.program(), reply.version(), absl::StrCat(reply.ring()), absl::StrCat(reply.packet()),
                          absl::StrCat(reply.proto()), absl::StrCat(reply.plan())},
                         {"copsectl", kVersion, "-", "-", absl::StrCat(kProtoVersion), "-"}};
  return cli::RenderTable(std::move(rows), style.width);
}

std::vector<Verb> StatsVerbs() {
  return {{.name = "stats",
           .help = "what daemons carry, and what went wrong; all counters of daemons, or of the planner",
           .options = {{kNode, "LIST", "only of this node, or of these, a host list: n[1-64],login"},
                       {kRaw, "", "all counters that are not 0"},
                       {kPlanner, "", "the planner's own"},
                       {kWatch, "SECONDS", "go on: what has changed, every so many seconds"},
                       {kHistograms, "", "what calls took, by collective and size, instead of counters"},
                       {kTeam, "TEAM", "with --histograms: only of this team's nodes"},
                       {kCollective, "NAME", "with --histograms: only of this collective's calls"}},
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
