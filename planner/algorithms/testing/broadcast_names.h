// SPDX-License-Identifier: Apache-2.0
//
// The names that BuildBroadcast knows.
#ifndef COPSE_PLANNER_ALGORITHMS_TESTING_BROADCAST_NAMES_H_
#define COPSE_PLANNER_ALGORITHMS_TESTING_BROADCAST_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace copse::planner {

// Returns the names of all algorithms for broadcasts, with each of `fanouts` as K.
inline std::vector<std::string> BroadcastNames(const std::vector<uint32_t>& fanouts) {
  std::vector<std::string> names = {"ft", "bt",      "fnf", "fef-latency", "fef-cost", "fcef", "fcef-bhat",
                                    "la", "la-bhat", "mgo", "mgo-jackson", "optimal",  "best"};
  for (const uint32_t k : fanouts) {
    names.push_back(absl::StrCat("knomial-", k));
    names.push_back(absl::StrCat("kary-", k));
  }
  return names;
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TESTING_BROADCAST_NAMES_H_
