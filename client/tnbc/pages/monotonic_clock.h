// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_TNBC_PAGES_MONOTONIC_CLOCK_H_
#define COPSE_CLIENT_TNBC_PAGES_MONOTONIC_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace copse::tnbc {

// Returns the time of CLOCK_MONOTONIC. Async-signal-safe.
inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MONOTONIC_CLOCK_H_
