// SPDX-License-Identifier: Apache-2.0
#include "base/process/open_files.h"

#include <sys/resource.h>

namespace copse {

uint64_t RaiseOpenFiles() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace copse
