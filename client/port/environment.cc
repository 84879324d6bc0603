// SPDX-License-Identifier: Apache-2.0

#include "client/port/environment.h"

#include <limits.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

namespace copse::client {
namespace {

constexpr uint64_t kCopiesMibMax = uint64_t{1} << 26;

// Returns the variable's value; null if it is not set or empty, as launchers may leave it.
const char* Get(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string Job() {
  // These are Copse's own, Slurm's, PMI's (MPICH), PMIx's, and Open MPI 4's.
  for (const char* name : {"COPSE_JOB", "SLURM_JOB_ID", "PMI_JOBID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (const char* value = Get(name)) return value;
  }
  return "";
}

}  // namespace

std::string Expand(std::string_view pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      result += pattern[i];
      continue;
    }
    const char what = pattern[++i];
    if (what == 'h') {
      char host[HOST_NAME_MAX + 1] = "";
      gethostname(host, sizeof(host) - 1);
      result += host;
    } else if (what == 'p') {
      result += std::to_string(getpid());
    } else {
      if (what != '%') result += '%';
      result += what;
    }
  }
  return result;
}

Environment ReadEnvironment() {
  Environment environment;
  if (const char* socket = Get("COPSE_SOCKET")) environment.socket = Expand(socket);
  environment.job = Job();
  if (const char* timeout = Get("COPSE_TIMEOUT")) {
    char* end = nullptr;
    const double seconds = strtod(timeout, &end);
    environment.timeout_is_number = *end == '\0' && !std::isnan(seconds);
    if (environment.timeout_is_number && std::isfinite(seconds) && seconds > 0) environment.timeout_s = seconds;
  }
  if (const char* copies = Get("COPSE_COPIES_MIB")) {
    char* end = nullptr;
    const unsigned long long mib = strtoull(copies, &end, 10);
    if (*end == '\0' && *copies != '-' && mib <= kCopiesMibMax) environment.copies_bytes = uint64_t{mib} << 20;
  }
  environment.log_level = ParseLogLevel(getenv("COPSE_LOG_LEVEL"));
  if (const char* file = Get("COPSE_LOG_FILE")) environment.log_file = Expand(file);
  return environment;
}

}  // namespace copse::client
