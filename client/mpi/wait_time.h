// SPDX-License-Identifier: Apache-2.0
//
// How ranks wait.
#ifndef COPSE_CLIENT_MPI_WAIT_TIME_H_
#define COPSE_CLIENT_MPI_WAIT_TIME_H_

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace copse::mpi {

inline constexpr char kTimeIsOver[] = "the time of COPSE_TIMEOUT is over";

// Of a clock that only goes forward.
inline uint64_t NowNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
inline double NowSeconds() { return static_cast<double>(NowNanoseconds()) * 1e-9; }

// For how long a rank sleeps before it gives MPI a turn, again and again: 100 us at first, at most 1 ms.
class Slices {
 public:
  double Next() {
    const double slice = next_;
    next_ = std::min(2 * next_, kLongest);
    return slice;
  }

 private:
  static constexpr double kLongest = 1e-3;
  double next_ = 100e-6;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_WAIT_TIME_H_
