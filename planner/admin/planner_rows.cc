// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/planner_rows.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/histogram.h"
#include "base/version.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

void FillHistogram(const Histogram& histogram, v1::LatencyRow* row) {
  row->set_sum_ns(histogram.sum());
  row->set_min_ns(histogram.min());
  row->set_max_ns(histogram.max());
  for (uint32_t i = 0; i < Histogram::kBucketCount; ++i) {
    if (histogram.bucket(i) == 0) continue;
    row->add_bucket(i);
    row->add_count(histogram.bucket(i));
  }
}

}  // namespace

void FillPlannerStatus(const PlannerState& state, v1::GetPlannerStatusReply* reply) {
  reply->set_leader(state.address);  // there is one planner
  reply->set_term(state.term);
  reply->set_cluster(rpc::ToUtf8(state.cluster));
  reply->set_quarantined(state.quarantined);
  for (const coordinator::ForeignTeams& teams : state.foreign) {
    v1::ForeignTeams* const foreign = reply->add_foreign();
    foreign->set_cluster(rpc::ToUtf8(teams.cluster));
    for (const std::string& node : teams.nodes) foreign->add_nodes(rpc::ToUtf8(node));
  }
  reply->set_since_s(absl::ToDoubleSeconds(state.since));
  reply->set_role("leader");
  reply->set_version(kVersion);
  reply->set_store(rpc::ToUtf8(state.store));
  reply->set_sessions(state.sessions);
  reply->set_address(state.address);
  reply->set_oldest_task_ms(absl::ToDoubleMilliseconds(state.oldest_task));
  reply->set_longest_turn_ms(absl::ToDoubleMilliseconds(state.longest_turn));
  if (state.longest_turn_at == absl::InfinitePast()) return;
  reply->set_longest_turn_at(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", state.longest_turn_at, absl::UTCTimeZone()));
}

void FillPlannerStats(const PlannerInstruments& instruments, v1::GetPlannerStatsReply* reply) {
  const std::map<std::string, uint64_t> counters = instruments.Counters();
  reply->mutable_counters()->insert(counters.begin(), counters.end());
  FillHistogram(instruments.turns(), reply->mutable_turns());
  FillHistogram(instruments.formations(), reply->mutable_formations());
}

}  // namespace copse::planner
