// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/histograms.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cli/client/latencies.h"
#include "prometheus/metric_type.h"

namespace copse::exporter {
namespace {

constexpr double kNanosecond = 1e-9;

prometheus::MetricFamily Family(const std::string& name, const std::string& help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Histogram;
  return family;
}

}  // namespace

prometheus::ClientMetric HistogramMetric(const Histogram& histogram) {
  prometheus::ClientMetric metric;
  metric.histogram.sample_count = histogram.count();
  metric.histogram.sample_sum = static_cast<double>(histogram.sum()) * kNanosecond;
  uint64_t below = 0;
  uint32_t bucket = 0;
  for (int bits = kBoundBitsFirst; bits <= kBoundBitsLast; bits += kBoundBitsStep) {
    const uint64_t bound = uint64_t{1} << bits;
    for (; bucket < Histogram::BucketOf(bound); ++bucket) below += histogram.bucket(bucket);
    metric.histogram.bucket.push_back(
        {.cumulative_count = below, .upper_bound = static_cast<double>(bound) * kNanosecond});
  }
  return metric;
}

prometheus::MetricFamily CallDurations(const google::protobuf::RepeatedPtrField<v1::LatencyRow>& rows) {
  std::map<std::pair<std::string, std::string>, Histogram> sums;
  for (const v1::LatencyRow& row : rows) {
    const std::optional<Histogram> histogram = ctl::Restored(row);
    if (histogram.has_value()) sums[{row.collective(), row.part()}].Merge(*histogram);
  }
  prometheus::MetricFamily family = Family("copse_call_duration_seconds", "What calls that ended well took.");
  for (const auto& [labels, histogram] : sums) {
    prometheus::ClientMetric metric = HistogramMetric(histogram);
    metric.label = {{"collective", labels.first}, {"part", labels.second}};
    family.metric.push_back(std::move(metric));
  }
  return family;
}

prometheus::MetricFamily DurationFamily(const std::string& name, const std::string& help, const v1::LatencyRow& row) {
  prometheus::MetricFamily family = Family(name, help);
  family.metric.push_back(HistogramMetric(ctl::Restored(row).value_or(Histogram())));
  return family;
}

}  // namespace copse::exporter
