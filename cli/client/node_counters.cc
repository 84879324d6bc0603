// SPDX-License-Identifier: Apache-2.0
#include "cli/client/node_counters.h"

#include <algorithm>
#include <string>

namespace copse::ctl {
namespace {

uint64_t CallsEnded(const v1::NodeStats& stats, bool ok) {
  uint64_t calls = 0;
  for (const auto& [name, value] : stats.counters()) {
    const std::optional<EndedCalls> ended = AsEndedCalls(name);
    if (ended.has_value() && ended->ok() == ok) calls += value;
  }
  return calls;
}

}  // namespace

std::optional<EndedCalls> AsEndedCalls(std::string_view name) {
  constexpr std::string_view kCalls = "calls.";
  if (!name.starts_with(kCalls)) return std::nullopt;
  name.remove_prefix(kCalls.size());
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return EndedCalls{.collective = name.substr(0, dot), .outcome = name.substr(dot + 1)};
}

uint64_t ValueOf(const v1::NodeStats& stats, std::string_view name) {
  const auto it = stats.counters().find(std::string(name));
  return it == stats.counters().end() ? 0 : it->second;
}

double OldestReportS(const v1::GetStatsReply& reply) {
  double oldest = 0;
  for (const v1::NodeStats& stats : reply.stats()) oldest = std::max(oldest, stats.age_s());
  return oldest;
}

double SecondsBetween(const v1::NodeStats& before, const v1::NodeStats& after, double asked) {
  constexpr char kClock[] = "process.clock_at_ms";
  const uint64_t from = ValueOf(before, kClock), to = ValueOf(after, kClock);
  return after.has_age_s() && to > from ? static_cast<double>(to - from) / 1e3 : asked;
}

uint64_t CallsDone(const v1::NodeStats& stats) { return CallsEnded(stats, /*ok=*/true); }
uint64_t CallsFailed(const v1::NodeStats& stats) { return CallsEnded(stats, /*ok=*/false); }

}  // namespace copse::ctl
