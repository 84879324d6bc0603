// SPDX-License-Identifier: Apache-2.0
#include "cli/client/latencies.h"

#include "absl/strings/str_cat.h"

namespace copse::ctl {

std::optional<Histogram> Restored(const v1::LatencyRow& row) {
  Histogram histogram;
  if (row.bucket_size() != row.count_size()) return std::nullopt;
  for (int i = 0; i < row.bucket_size(); ++i) {
    if (!histogram.Restore(row.bucket(i), row.count(i)).ok()) return std::nullopt;
  }
  if (!histogram.RestoreTotals(row.sum_ns(), row.min_ns(), row.max_ns()).ok()) return std::nullopt;
  return histogram;
}

std::map<LatencyKey, Histogram> Latencies(const v1::GetStatsReply& reply) {
  std::map<LatencyKey, Histogram> latencies;
  for (const v1::NodeStats& stats : reply.stats()) {
    for (const v1::LatencyRow& row : stats.latencies()) {
      const std::optional<Histogram> histogram = Restored(row);
      if (!histogram.has_value()) continue;
      LatencyKey key{stats.node(), row.collective(), row.bytes_min(), row.bytes_max(), row.part()};
      latencies[key].Merge(*histogram);
      key.node = kAllNodes;
      if (reply.stats_size() > 1) latencies[key].Merge(*histogram);
    }
  }
  return latencies;
}

Json PercentilesJson(const Histogram& histogram) {
  Json json = {{"count", histogram.count()}, {"mean_ns", histogram.mean()}, {"min_ns", histogram.min()}};
  for (const auto& [name, p] : kPercentiles) json[absl::StrCat(name, "_ns")] = histogram.Percentile(p);
  json["max_ns"] = histogram.max();
  return json;
}

Json LatencyJson(const LatencyKey& key, const Histogram& histogram) {
  Json json = {
      {"collective", key.collective}, {"bytes_min", key.bytes_min}, {"bytes_max", key.bytes_max}, {"part", key.part}};
  json.update(PercentilesJson(histogram));
  return json;
}

}  // namespace copse::ctl
