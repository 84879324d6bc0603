// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/text.h"

#include <sys/resource.h>

#include "absl/strings/str_format.h"

namespace copse::simcli {

std::string FormatDifference(double value, double reference) {
  if (!(reference > 0)) return "-";
  return absl::StrFormat("%+.1f %%", (value / reference - 1) * 100);
}

int64_t PeakMemoryBytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace copse::simcli
