// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/metrics.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/string_view.h"
#include "cli/exporter/histograms.h"
#include "google/protobuf/map.h"
#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"

namespace copse::exporter {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using CounterMap = google::protobuf::Map<std::string, uint64_t>;

// Counters that can fall, or families of them, which end in a point.
constexpr const char* kGauges[] = {"calls.in_flight",
                                   "certificates.end_soon",
                                   "daemon.connections",
                                   "daemon.neighbors",
                                   "data.mtu_bytes",
                                   "engine.frames.waiting",
                                   "engine.memory.reserved_bytes",
                                   "engine.memory.used_bytes",
                                   "engine.sends.waiting",
                                   "nodes.",
                                   "plans.waiting",
                                   "process.clock_at_ms",
                                   "process.memory_bytes",
                                   "process.uptime_s",
                                   "quota.orphans",
                                   "queue.oldest_us",
                                   "queue.tasks",
                                   "sessions",
                                   "sessions.queued_bytes",
                                   "sessions.queued_bytes_most",
                                   "store.failing_ms",
                                   "store.free_bytes",
                                   "store.waiting_changes",
                                   "store.waiting_messages",
                                   "teams.",
                                   "tls."};
// Extremes and quantiles can fall, too.
constexpr const char* kGaugeParts[] = {"_max", "_p50", "_p99"};

// Families whose last part is the value of a label.
struct LabeledFamily {
  const char* prefix;
  const char* label;
};
constexpr LabeledFamily kLabeledFamilies[] = {{"engine.dropped.", "reason"},
                                              {"loop.wakes.", "by"},
                                              {"nodes.", "state"},
                                              {"quota.refused.", "quota"},
                                              {"teams.", "state"}};

bool IsGauge(absl::string_view counter) {
  return std::any_of(std::begin(kGauges), std::end(kGauges),
                     [&](absl::string_view gauge) {
                       return counter == gauge || (absl::EndsWith(gauge, ".") && absl::StartsWith(counter, gauge));
                     }) ||
         std::any_of(std::begin(kGaugeParts), std::end(kGaugeParts),
                     [&](absl::string_view part) { return absl::StrContains(counter, part); });
}

// Takes the direction or the result from the end of the name to a label.
void TakeLabels(absl::string_view* counter, MetricName* metric) {
  const std::vector<absl::string_view> parts = absl::StrSplit(*counter, '.');
  if (parts.size() == 3 && parts[0] == "calls") {
    metric->labels = {{"collective", std::string(parts[1])}, {"result", std::string(parts[2])}};
    *counter = "calls";
    return;
  }
  for (const char* direction : {"sent", "received"}) {
    if (parts.back() == direction && absl::ConsumeSuffix(counter, absl::StrCat(".", direction))) {
      metric->labels = {{"direction", direction}};
      return;
    }
  }
  for (const LabeledFamily& family : kLabeledFamilies) {
    absl::string_view rest = *counter;
    if (!absl::ConsumePrefix(&rest, family.prefix)) continue;
    metric->labels = {{family.label, std::string(rest)}};
    *counter = absl::StripSuffix(family.prefix, ".");
    return;
  }
}

MetricFamily Family(std::string name, std::string help, MetricType type) {
  MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

void Add(const std::vector<std::pair<std::string, std::string>>& labels, double value, MetricFamily* family) {
  prometheus::ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  if (family->type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family->metric.push_back(std::move(metric));
}

MetricFamily Gauge(const std::string& name, const std::string& help, double value,
                   const std::vector<std::pair<std::string, std::string>>& labels = {}) {
  MetricFamily family = Family(name, help, MetricType::Gauge);
  Add(labels, value, &family);
  return family;
}

void AddCounters(const CounterMap& counters, std::vector<MetricFamily>* all) {
  std::vector<MetricFamily> families = MetricsOf({counters.begin(), counters.end()});
  std::move(families.begin(), families.end(), std::back_inserter(*all));
}

double ForeignNodes(const v1::GetPlannerStatusReply& status) {
  int count = 0;
  for (const v1::ForeignTeams& teams : status.foreign()) count += teams.nodes_size();
  return count;
}

}  // namespace

MetricName MetricNameOf(std::string_view counter) {
  MetricName metric;
  metric.is_gauge = IsGauge(AbslView(counter));
  absl::string_view rest = AbslView(counter);
  TakeLabels(&rest, &metric);
  std::string name = absl::StrCat("copse_", rest);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !absl::ascii_isalnum(static_cast<unsigned char>(c)); }, '_');
  absl::string_view stem = name;
  std::string unit;
  if (absl::ConsumeSuffix(&stem, "_at_ms")) {
    metric.factor = 1e-3;
    unit = "_timestamp_seconds";
  } else if (absl::ConsumeSuffix(&stem, "_us")) {
    metric.factor = 1e-6;
    unit = "_seconds";
  } else if (absl::ConsumeSuffix(&stem, "_ms")) {
    metric.factor = 1e-3;
    unit = "_seconds";
  } else if (absl::ConsumeSuffix(&stem, "_at_s")) {
    unit = "_timestamp_seconds";
  } else if (absl::ConsumeSuffix(&stem, "_s")) {
    unit = "_seconds";
  }
  metric.name = absl::StrCat(stem, unit, metric.is_gauge ? "" : "_total");
  return metric;
}

std::vector<MetricFamily> MetricsOf(const std::map<std::string, uint64_t>& counters) {
  std::map<std::string, MetricFamily> families;
  for (const auto& [counter, value] : counters) {
    const MetricName metric = MetricNameOf(counter);
    const auto [it, is_new] = families.try_emplace(metric.name);
    if (is_new) {
      it->second = Family(metric.name, absl::StrCat("Copse's counter ", counter, "."),
                          metric.is_gauge ? MetricType::Gauge : MetricType::Counter);
    }
    Add(metric.labels, static_cast<double>(value) * metric.factor, &it->second);
  }
  std::vector<MetricFamily> list;
  for (auto& [name, family] : families) list.push_back(std::move(family));
  return list;
}

std::vector<MetricFamily> DaemonMetrics(const v1::StatusAnswer* status, std::string_view version) {
  std::vector<MetricFamily> all = {
      Gauge("copse_up", "1 if the daemon of this node answers.", status == nullptr ? 0 : 1),
      Gauge("copse_exporter_info", "The exporter's version.", 1, {{"version", std::string(version)}})};
  if (status == nullptr) return all;
  all.push_back(Gauge("copse_node_planner_connected", "1 if the daemon has a connection to the planner.",
                      status->planner_connected() ? 1 : 0));
  all.push_back(
      Gauge("copse_node_draining", "1 if the daemon takes no new teams.", status->state() == "draining" ? 1 : 0));
  all.push_back(Gauge("copse_node_clients", "Processes that are attached.", status->clients()));
  all.push_back(Gauge("copse_node_ranks", "Ranks of teams on this node.", status->ranks()));
  all.push_back(Gauge("copse_node_teams", "Teams with ranks on this node.", status->teams()));
  all.push_back(CallDurations(status->latencies()));
  AddCounters(status->counters(), &all);
  return all;
}

std::vector<MetricFamily> PlannerMetrics(const v1::GetPlannerStatusReply* status, const v1::GetPlannerStatsReply* stats,
                                         std::string_view version) {
  const bool is_up = status != nullptr && stats != nullptr;
  std::vector<MetricFamily> all = {
      Gauge("copse_planner_up", "1 if the planner answers.", is_up ? 1 : 0),
      Gauge("copse_web_info", "The version of copse-web.", 1, {{"version", std::string(version)}})};
  if (!is_up) return all;
  all.push_back(Gauge("copse_planner_info", "The planner's version.", 1, {{"version", status->version()}}));
  all.push_back(
      Gauge("copse_planner_leader", "1 if the planner that answers leads.", status->role() == "leader" ? 1 : 0));
  all.push_back(Gauge("copse_planner_term", "Number of the leader's term.", static_cast<double>(status->term())));
  all.push_back(Gauge("copse_planner_role_seconds", "Time since it leads, or stands by.", status->since_s()));
  all.push_back(Gauge("copse_planner_foreign_nodes", "Nodes refused since their teams are of another cluster.",
                      ForeignNodes(*status)));
  all.push_back(DurationFamily("copse_formation_duration_seconds", "From a team's last join to the decision.",
                               stats->formations()));
  all.push_back(
      DurationFamily("copse_turn_duration_seconds", "Processor time of the planner's turns.", stats->turns()));
  AddCounters(stats->counters(), &all);
  return all;
}

}  // namespace copse::exporter
