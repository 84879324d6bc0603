// SPDX-License-Identifier: Apache-2.0
//
// Holds what one rank has measured of a run, for the statistics of copse-run --stats.
#ifndef COPSE_CLIENT_MPI_SESSION_RUN_FIGURES_H_
#define COPSE_CLIENT_MPI_SESSION_RUN_FIGURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/mpi/api/back_end.h"
#include "client/mpi/data/reason.h"

namespace copse::mpi {

// ComparedCalls are blocking calls by one path, of kinds that were timed by both paths before. The times are what these
// calls take the slowest rank by each path, from its measured means (PathChoice::compared).
struct ComparedCalls {
  uint64_t calls = 0;
  uint64_t copse_ns = 0;
  uint64_t mpi_ns = 0;

  void Add(const ComparedCalls& more) {
    calls += more.calls;
    copse_ns += more.copse_ns;
    mpi_ns += more.mpi_ns;
  }
};

// CollectiveFigures are the calls of one function, with the time that this rank has spent in them.
struct CollectiveFigures {
  Entry entry{};
  uint64_t offloaded = 0;
  uint64_t offloaded_ns = 0;
  uint64_t passed_ns = 0;
  std::array<uint64_t, static_cast<size_t>(Reason::kCount)> passed{};  // by the reason why they went to MPI
  ComparedCalls by_copse, by_mpi;

  uint64_t all_passed() const {
    uint64_t all = 0;
    for (const uint64_t calls : passed) all += calls;
    return all;
  }
};

// A BlockReason says why an offloaded blocking call did not return early.
enum class BlockReason : uint8_t {
  kTooShort,
  kCombined,    // this process combines the contributions after all have come
  kDoesNotPay,  // measured, or being measured (COPSE_TNBC=auto)
  kNotSafe,     // devices, error handlers, windows or threads, which COPSE_TNBC describes
  kMemory,      // the result cannot be protected or has gaps, or there is no room for copies
  kCount
};

// EarlyFigures are the calls that returned before their data was there. Their times are explained at
// tnbc::EarlyCounters.
struct EarlyFigures {
  bool is_auto = false;  // COPSE_TNBC=auto
  uint64_t calls = 0;
  uint64_t inside_ns = 0;
  uint64_t behind_ns = 0;
  uint64_t waits = 0;      // accesses that waited for data
  uint64_t waited_ns = 0;  // and for how long
  std::array<uint64_t, static_cast<size_t>(BlockReason::kCount)> blocked{};
};

struct RunFigures {
  struct Teams {
    uint64_t count = 0;
    uint64_t ns = 0;
  };

  int rank = 0;
  int size = 0;
  std::vector<CollectiveFigures> collectives;  // those that were called
  Teams formed, not_formed;
  std::optional<EarlyFigures> early;  // nullopt: no call may return early
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_RUN_FIGURES_H_
