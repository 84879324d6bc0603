// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/measured_calls.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/histogram.h"
#include "schedule/select_plan.h"

namespace copse::planner {
namespace {

// Returns the bytes that select the plan of the calls in the row; nullopt: the row cannot tell.
std::optional<uint64_t> PlanBytes(const schedule::LatencyStatus& row, uint32_t ranks) {
  const CallArguments call = {.collective = row.collective, .count = row.bytes_min};
  const uint64_t bytes = schedule::PlanBytesOf(call, ranks);
  return bytes == schedule::kCallBytesMax ? std::nullopt : std::optional(bytes);
}

bool Serves(const schedule::Plan& plan, const schedule::LatencyStatus& row, uint32_t ranks) {
  if (PlanCollective(row.collective) != plan.collective) return false;
  const uint64_t bytes = PlanBytes(row, ranks).value_or(schedule::kCallBytesMax);
  return plan.bytes_min <= bytes && bytes <= plan.bytes_max;
}

// Daemons send sound histograms; of others the sound part is taken.
Histogram Restored(const schedule::LatencyStatus& row) {
  Histogram histogram;
  for (const auto& [bucket, count] : row.buckets) (void)histogram.Restore(bucket, count);
  (void)histogram.RestoreTotals(row.sum_ns, row.min_ns, row.max_ns);
  return histogram;
}

double Microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

uint64_t CountOf(const schedule::LatencyStatus& row) {
  uint64_t calls = 0;
  for (const auto& [bucket, count] : row.buckets) calls += count;
  return calls;
}

// SizeClassKey tells the rows of one kind of call: a plan serves calls of several collectives.
using SizeClassKey = std::pair<Collective, uint64_t>;
SizeClassKey KeyOf(const schedule::LatencyStatus& row) { return {row.collective, row.bytes_min}; }

}  // namespace

void MeasuredCalls::Add(const schedule::DaemonStatus& status) {
  NodeCalls& node = nodes_[status.node];
  node.latencies = status.latencies;
  node.clients = status.clients;
  node.teams = status.teams;
}

void MeasuredCalls::AddPlanCalls(TeamId team, const schedule::DaemonStatus& status) {
  std::map<PlanId, uint64_t>& by_plan = nodes_[status.node].by_plan[team];
  for (const schedule::PlanCalls& made : status.plan_calls) by_plan[made.plan] += made.calls;
}

std::optional<uint64_t> MeasuredCalls::CallsOf(const schedule::TeamLayout& layout, PlanId plan, const NodeCalls& node) {
  const auto team = node.by_plan.find(layout.id);
  if (team == node.by_plan.end()) return std::nullopt;
  const auto calls = team->second.find(plan);
  return calls == team->second.end() ? 0 : calls->second;
}

uint32_t MeasuredCalls::clients() const {
  uint32_t clients = 0;
  for (const auto& [name, node] : nodes_) clients += node.clients;
  return clients;
}

bool MeasuredCalls::Has(const schedule::TeamLayout& layout) const {
  return std::any_of(layout.nodes.begin(), layout.nodes.end(), [this](const schedule::TeamNode& node) {
    const auto found = nodes_.find(node.name);
    return found != nodes_.end() && !found->second.latencies.empty();
  });
}

std::optional<MeasuredCall> MeasuredCalls::Of(const schedule::TeamLayout& layout, PlanId id,
                                              const schedule::Plan& plan) const {
  const uint32_t ranks = layout.shape.size();
  std::map<SizeClassKey, uint64_t> counts;
  struct Answer {
    const std::string* name;
    const NodeCalls* node;
    NodeIndex index;
    uint64_t served = 0;  // ranks' calls that the plan could serve
  };
  std::vector<Answer> nodes;
  for (uint32_t n = 0; n < layout.nodes.size(); ++n) {
    const auto found = nodes_.find(layout.nodes[n].name);
    if (found == nodes_.end() || CallsOf(layout, id, found->second) == 0) continue;
    nodes.push_back({&found->first, &found->second, NodeIndex(n)});
    for (const schedule::LatencyStatus& row : found->second.latencies) {
      if (row.part != schedule::CallPart::kCall || !Serves(plan, row, ranks)) continue;
      counts[KeyOf(row)] += CountOf(row);
      nodes.back().served += CountOf(row);
    }
  }
  if (counts.empty()) return std::nullopt;
  const SizeClassKey most = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                            })->first;
  MeasuredCall slowest;
  for (const auto& [name, node, index, served] : nodes) {
    MeasuredCall here{.node = *name, .clients = node->clients, .teams = node->teams};
    for (const schedule::LatencyStatus& row : node->latencies) {
      if (KeyOf(row) != most) continue;
      const Histogram histogram = Restored(row);
      const double median_us = Microseconds(histogram.Percentile(0.5));
      if (row.part == schedule::CallPart::kRanks) here.apart_us = median_us;
      if (row.part != schedule::CallPart::kCall) continue;
      here.plan_bytes = PlanBytes(row, ranks);
      here.bytes_min = row.bytes_min;
      here.bytes_max = row.bytes_max;
      here.count = histogram.count();
      here.median_us = median_us;
      here.least_us = Microseconds(histogram.min());
    }
    if (here.count == 0 || (slowest.count > 0 && here.median_us <= slowest.median_us)) continue;
    if (const auto calls = CallsOf(layout, id, *node); calls.has_value()) {
      const auto& of_rank = layout.shape.node_of_rank;
      const auto own = *calls * static_cast<uint64_t>(std::count(of_rank.begin(), of_rank.end(), index));
      here.others = served - std::min(served, own);  // own ones may be in flight
    }
    slowest = std::move(here);
  }
  return slowest.count > 0 ? std::optional(std::move(slowest)) : std::nullopt;
}

std::string WhyOff(double predicted_us, const MeasuredCall& measured, const Surroundings& around) {
  if (predicted_us <= 0 || measured.median_us <= 0) return "";
  const double times = measured.median_us / predicted_us;
  if (times <= kOffFactor && times >= 1 / kOffFactor) return "";
  std::vector<std::string> causes;
  const bool is_slow = times > 1;
  if (is_slow && around.cores > 0 && around.processes > around.cores) {
    causes.push_back(absl::StrCat("cores oversubscribed (node=", measured.node, ", processes=", around.processes,
                                  ", cores=", around.cores, ")"));
  }
  if (is_slow && measured.apart_us > measured.median_us / kOffFactor) {
    causes.push_back(absl::StrFormat("ranks post apart (node=%s, median=%.1fus)", measured.node, measured.apart_us));
  }
  if (is_slow && measured.least_us < kOffFactor * predicted_us) {
    causes.push_back(absl::StrFormat("node busy, or ranks late: others were as predicted (node=%s, least=%.1fus)",
                                     measured.node, measured.least_us));
  }
  if (!around.links.empty()) causes.push_back(absl::StrCat("links not measured (figures=", around.links, ")"));
  if (measured.others.has_value() && *measured.others > 0) {
    causes.push_back(absl::StrCat("calls of other teams or plans measured with them (node=", measured.node,
                                  ", others=", *measured.others, ")"));
  } else if (!measured.others.has_value() && measured.teams > 1) {
    causes.push_back(absl::StrCat("calls of several teams measured together (node=", measured.node,
                                  ", teams=", measured.teams, ")"));
  }
  return absl::StrFormat("%.1f times the prediction: %s", times,
                         causes.empty() ? "no cause is known" : absl::StrJoin(causes, "; "));
}

}  // namespace copse::planner
