// SPDX-License-Identifier: Apache-2.0
//
// Defines the clock for the waits of ranks.
#ifndef COPSE_CLIENT_MPI_API_WAIT_TIME_H_
#define COPSE_CLIENT_MPI_API_WAIT_TIME_H_

#include <cstdint>

#include "base/monotonic_ns.h"

namespace copse::mpi {

inline constexpr char kTimeIsOver[] = "the time of COPSE_TIMEOUT is over";

inline uint64_t NowNanoseconds() { return MonotonicNs(); }
inline double NowSeconds() { return static_cast<double>(NowNanoseconds()) * 1e-9; }

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_WAIT_TIME_H_
