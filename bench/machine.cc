// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_format.h"

namespace copse::bench {

std::string DescribeMachine() {
  // The fourth field of the load average is what runs at this moment, us included; the averages are still of what
  // ended.
  unsigned running = 0;
  std::FILE* file = std::fopen("/proc/loadavg", "re");
  if (file != nullptr) {
    if (std::fscanf(file, "%*s %*s %*s %u", &running) != 1) running = 0;
    std::fclose(file);
  }
  return absl::StrFormat("%d cores, %d others running", sysconf(_SC_NPROCESSORS_ONLN), running > 0 ? running - 1 : 0);
}

}  // namespace copse::bench
