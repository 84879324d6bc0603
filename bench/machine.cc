// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_format.h"

namespace copse::bench {

std::string DescribeMachine() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) load = 0;
  return absl::StrFormat("%d cores, load %.1f", sysconf(_SC_NPROCESSORS_ONLN), load);
}

}  // namespace copse::bench
