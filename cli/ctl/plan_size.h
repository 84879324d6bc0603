// SPDX-License-Identifier: Apache-2.0
//
// The sizes that a plan serves, as text.
#ifndef COPSE_CLI_CTL_PLAN_SIZE_H_
#define COPSE_CLI_CTL_PLAN_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace copse::ctl {

// A value beyond any call: schedule's kCallBytesMax, as sent over the wire.
inline constexpr uint64_t kCallBytesMax = uint64_t{1} << 46;

// Formats "121-8192"; the class without an upper end is "65537 and more".
inline std::string SizeClassOf(uint64_t bytes_min, uint64_t bytes_max) {
  return bytes_max >= kCallBytesMax ? absl::StrCat(bytes_min, " and more") : absl::StrCat(bytes_min, "-", bytes_max);
}

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_PLAN_SIZE_H_
