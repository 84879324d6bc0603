// SPDX-License-Identifier: Apache-2.0
#include "cli/web/history.h"

#include <utility>

namespace copse::web {
namespace {

constexpr const char* kSeries[] = {"sessions",          "nodes.ready",       "nodes.away",
                                   "teams.ready",       "queue.oldest_us",   "loop.turn_p99_us",
                                   "store.time_p99_us", "formations.formed", "formations.failed"};

}  // namespace

void History::Add(absl::Time now, const std::map<std::string, uint64_t>& counters) {
  if (!samples_.empty() && now < samples_.back().time + kPause) return;
  Sample sample{.time = now, .values = {}};
  for (const char* name : kSeries) {
    const auto it = counters.find(name);
    std::optional<uint64_t> value;
    if (!counters.empty()) value = it == counters.end() ? 0 : it->second;
    sample.values.push_back(value);
  }
  samples_.push_back(std::move(sample));
  while (samples_.front().time < now - kSpan) samples_.pop_front();
}

ctl::Json History::ToJson() const {
  ctl::Json json = {{"times", ctl::Json::array()}, {"series", ctl::Json::object()}};
  for (const char* name : kSeries) json["series"][name] = ctl::Json::array();
  for (const Sample& sample : samples_) {
    json["times"].push_back(absl::ToUnixSeconds(sample.time));
    for (size_t i = 0; i < sample.values.size(); ++i) {
      const std::optional<uint64_t>& value = sample.values[i];
      json["series"][kSeries[i]].push_back(value.has_value() ? ctl::Json(*value) : ctl::Json(nullptr));
    }
  }
  return json;
}

}  // namespace copse::web
