// SPDX-License-Identifier: Apache-2.0
//
// Bounds what parties that are not trusted can have a program log: nobody may fill a disk that way.
#ifndef COPSE_BASE_LOG_BUDGET_H_
#define COPSE_BASE_LOG_BUDGET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace copse {

// A LogBudget lets each party cause kBurst lines, and one more each kEvery. A job of 256 ranks a node causes some 500.
// Thread-compatible.
class LogBudget {
 public:
  static constexpr uint32_t kBurst = 2000;
  static constexpr absl::Duration kEvery = absl::Milliseconds(500);
  static constexpr size_t kPartiesMax = 4096;  // beyond, all start anew

  // Returns what ends the line that the party, such as "uid 1000", has caused: nothing, or how many lines before it
  // were left out. nullopt: it is to be left out, too.
  std::optional<std::string> Take(const std::string& party, absl::Time now);

 private:
  struct Party {
    double left = kBurst;
    absl::Time at;  // of `left`
    uint64_t left_out = 0;

    double LeftAt(absl::Time now) const {
      return std::min<double>(kBurst, left + absl::FDivDuration(now - at, kEvery));
    }
  };

  std::map<std::string, Party> parties_;
};

}  // namespace copse

#endif  // COPSE_BASE_LOG_BUDGET_H_
