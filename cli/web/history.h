// SPDX-License-Identifier: Apache-2.0
//
// Remembers the last hour of a planner's main gauges.
#ifndef COPSE_CLI_WEB_HISTORY_H_
#define COPSE_CLI_WEB_HISTORY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/client/style.h"

namespace copse::web {

// A History keeps samples of some counters. Thread-compatible.
class History {
 public:
  static constexpr absl::Duration kSpan = absl::Hours(1);
  static constexpr absl::Duration kPause = absl::Seconds(5);

  // Adds a sample if the last one is kPause old, and forgets what is older than kSpan. `counters` lacks those that are
  // 0 for want of an event; it is empty if the planner did not answer.
  void Add(absl::Time now, const std::map<std::string, uint64_t>& counters);

  // Returns {"times": [seconds since 1970], "series": {"sessions": [value or null]}}, the oldest first.
  ctl::Json ToJson() const;

 private:
  struct Sample {
    absl::Time time;
    std::vector<std::optional<uint64_t>> values;  // as kSeries has them
  };
  std::deque<Sample> samples_;
};

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_HISTORY_H_
