// SPDX-License-Identifier: Apache-2.0
//
// Defines the clock for the waits of ranks.
#ifndef COPSE_CLIENT_MPI_API_WAIT_TIME_H_
#define COPSE_CLIENT_MPI_API_WAIT_TIME_H_

#include <time.h>

#include <cstdint>

namespace copse::mpi {

inline constexpr char kTimeIsOver[] = "the time of COPSE_TIMEOUT is over";

// Returns the time of CLOCK_MONOTONIC.
inline uint64_t NowNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
inline double NowSeconds() { return static_cast<double>(NowNanoseconds()) * 1e-9; }

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_WAIT_TIME_H_
