// SPDX-License-Identifier: Apache-2.0
#include "bench/measures/process_usage.h"

#include <sched.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace copse::bench {

// The process's clock has nanoseconds, /proc/PID/stat ticks of 10 ms.
absl::StatusOr<absl::Duration> CpuTime(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return absl::NotFoundError(absl::StrCat("no such process (pid=", pid, ")"));
  }
  return absl::DurationFromTimespec(time);
}

absl::Status PinProcess(pid_t pid, uint32_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), error)) {
    const auto number = static_cast<pid_t>(std::atol(thread.path().filename().c_str()));
    if (sched_setaffinity(number, sizeof(cores), &cores) == 0 || errno == ESRCH) continue;
    return absl::ErrnoToStatus(errno, absl::StrCat("a thread cannot be bound (pid=", pid, ", core=", core, ")"));
  }
  if (error) return absl::NotFoundError(absl::StrCat("no such process (pid=", pid, ")"));
  return absl::OkStatus();
}

absl::StatusOr<Pss> ReadPss(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/smaps_rollup"));
  Pss pss;
  bool found = false;
  // "Pss_Anon:            1234 kB"
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon);
    const double value = std::strtod(line.c_str() + colon + 1, nullptr);
    if (key == "Pss") {
      pss.total_kb = value;
      found = true;
    }
    if (key == "Pss_Anon") pss.private_kb = value;
    if (key == "Pss_Anon" || key == "Pss_Shmem") pss.own_kb += value;
  }
  if (!found) return absl::NotFoundError(absl::StrCat("no /proc/PID/smaps_rollup (pid=", pid, ")"));
  return pss;
}

}  // namespace copse::bench
