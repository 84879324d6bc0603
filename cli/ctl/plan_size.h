// SPDX-License-Identifier: Apache-2.0
//
// The sizes that a plan is for, as text.
#ifndef COPSE_CLI_CTL_PLAN_SIZE_H_
#define COPSE_CLI_CTL_PLAN_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace copse::ctl {

// Longer than any call: schedule's kCallBytesMax, as it comes over the wire.
inline constexpr uint64_t kCallBytesMax = uint64_t{1} << 46;

// "121-8192"; of the class without an upper end "65537 and more".
inline std::string SizeClassOf(uint64_t bytes_min, uint64_t bytes_max) {
  return bytes_max >= kCallBytesMax ? absl::StrCat(bytes_min, " and more") : absl::StrCat(bytes_min, "-", bytes_max);
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PLAN_SIZE_H_
