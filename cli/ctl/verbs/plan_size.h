// SPDX-License-Identifier: Apache-2.0
//
// Formats the size class of a plan.
#ifndef COPSE_CLI_CTL_VERBS_PLAN_SIZE_H_
#define COPSE_CLI_CTL_VERBS_PLAN_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace copse::ctl {

// It is equal to schedule::kCallBytesMax, which the planner sends as the upper end of a class without one.
inline constexpr uint64_t kCallBytesMax = uint64_t{1} << 46;

// Formats the bounds of a class as "121-8192", or as "65537 and more" if it has no upper end.
inline std::string SizeClassOf(uint64_t bytes_min, uint64_t bytes_max) {
  return bytes_max >= kCallBytesMax ? absl::StrCat(bytes_min, " and more") : absl::StrCat(bytes_min, "-", bytes_max);
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_PLAN_SIZE_H_
