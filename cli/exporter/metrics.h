// SPDX-License-Identifier: Apache-2.0
//
// Makes Prometheus's metrics of counters. docs/reference/metrics.md lists them.
#ifndef COPSE_CLI_EXPORTER_METRICS_H_
#define COPSE_CLI_EXPORTER_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::exporter {

// MetricName says what a counter is called in Prometheus, whose units are seconds and bytes.
struct MetricName {
  std::string name;                                         // "copse_calls_total"
  std::vector<std::pair<std::string, std::string>> labels;  // {{"collective", "bcast"}, {"result", "ok"}}
  bool is_gauge = false;
  double factor = 1;  // from the counter's unit to the metric's
};

// Returns the name of one of the counters in docs/reference/instruments.md; unknown ones are converted likewise.
MetricName MetricNameOf(std::string_view counter);

// Returns metrics of the counters, one family for each name, in the names' order.
std::vector<prometheus::MetricFamily> MetricsOf(const std::map<std::string, uint64_t>& counters);

// Returns a daemon's metrics: those of its counters, and copse_up and others of its state. `status` is null if it does
// not answer; then copse_up alone, 0, is returned.
std::vector<prometheus::MetricFamily> DaemonMetrics(const v1::StatusAnswer* status, std::string_view version);

// Returns a planner's metrics: those of its counters, and copse_planner_up and others of its status. Either is null if
// the planner does not answer; then copse_planner_up, 0, and the version of copse-web are all.
std::vector<prometheus::MetricFamily> PlannerMetrics(const v1::GetPlannerStatusReply* status,
                                                     const v1::GetPlannerStatsReply* stats, std::string_view version);

}  // namespace copse::exporter

#endif  // COPSE_CLI_EXPORTER_METRICS_H_
