// SPDX-License-Identifier: Apache-2.0
//
// Sums up what daemons' calls took.
#ifndef COPSE_CLI_CLIENT_LATENCIES_H_
#define COPSE_CLI_CLIENT_LATENCIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/histogram.h"
#include "cli/client/style.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

inline constexpr char kAllNodes[] = "";
inline constexpr std::pair<const char*, double> kPercentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};

// A LatencyKey identifies one row of a table: node, collective, size class, and part of the call.
struct LatencyKey {
  std::string node;
  std::string collective;
  uint64_t bytes_min = 0;
  uint64_t bytes_max = 0;
  std::string part;

  // Returns the sort key: collective, size class and part come first, so the rows of all nodes are adjacent, and their
  // total precedes them.
  auto Order() const { return std::tuple(collective, bytes_min, bytes_max, part, node != kAllNodes, node); }
  friend bool operator<(const LatencyKey& a, const LatencyKey& b) { return a.Order() < b.Order(); }
};

// Returns the histogram of a row, or nothing if the row is not sound.
std::optional<Histogram> Restored(const v1::LatencyRow& row);

// Returns the histograms of all rows that are sound, and, of several nodes, their totals.
std::map<LatencyKey, Histogram> Latencies(const v1::GetStatsReply& reply);

// Returns count, mean, extremes and percentiles in nanoseconds.
Json PercentilesJson(const Histogram& histogram);
// Returns the same with the key's collective, sizes and part.
Json LatencyJson(const LatencyKey& key, const Histogram& histogram);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CLIENT_LATENCIES_H_
