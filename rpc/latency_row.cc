// SPDX-License-Identifier: Apache-2.0
#include "rpc/latency_row.h"

#include <string>

namespace copse::rpc {

void FillLatency(const schedule::LatencyStatus& latency, v1::LatencyRow* row) {
  row->set_collective(std::string(CollectiveName(latency.collective)));
  row->set_bytes_min(latency.bytes_min);
  row->set_bytes_max(latency.bytes_max);
  row->set_part(std::string(CallPartName(latency.part)));
  row->set_sum_ns(latency.sum_ns);
  row->set_min_ns(latency.min_ns);
  row->set_max_ns(latency.max_ns);
  for (const auto& [bucket, count] : latency.buckets) {
    row->add_bucket(bucket);
    row->add_count(count);
  }
}

}  // namespace copse::rpc
