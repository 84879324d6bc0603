// SPDX-License-Identifier: Apache-2.0
//
// Counts the collective calls of a process by their path, for copse-run --stats.
#ifndef COPSE_CLIENT_MPI_SESSION_STATISTICS_H_
#define COPSE_CLIENT_MPI_SESSION_STATISTICS_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "client/mpi/api/back_end.h"
#include "client/mpi/data/reason.h"
#include "client/mpi/session/path_choice.h"
#include "client/mpi/session/run_figures.h"

namespace copse::mpi {

// Returns the name of the function, such as "MPI_Barrier".
const char* NameOf(Entry entry);

// Statistics holds the counts of one process. Thread-safe.
class Statistics {
 public:
  // Count a call that was offloaded, or passed to MPI for `reason`, and its duration (0 unless
  // Settings::keeps_times()).
  void CountOffloaded(Entry entry, uint64_t nanoseconds);
  void CountPassed(Entry entry, Reason reason, uint64_t nanoseconds);
  // Counts an attempt to form a team. The time is not included in that of the call that formed it.
  void CountTeam(bool formed, uint64_t nanoseconds);

  // Counts a call, which is counted as above too, if its kind has been measured by both paths, with these means.
  void CountCompared(Entry entry, Path path, const PathMeans& means);

  // Adds the figures of asynchronous calls, when there are no more of them.
  void SetEarly(const EarlyFigures& early) { early_ = early; }

  // Returns all counts. Calls that other threads count meanwhile may be missing.
  RunFigures Figures(int rank, int size) const;

 private:
  struct Comparison {
    void Count(const PathMeans& means);
    ComparedCalls Get() const;

    std::atomic<uint64_t> calls, copse_ns, mpi_ns;
  };
  struct Row {
    std::atomic<uint64_t> offloaded, offloaded_ns, passed_ns;
    std::atomic<uint64_t> passed[static_cast<int>(Reason::kCount)];
    Comparison by_copse, by_mpi;
  };
  Row rows_[kEntryCount] = {};
  struct Teams {
    std::atomic<uint64_t> count, ns;
  };
  Teams formed_ = {}, not_formed_ = {};
  std::optional<EarlyFigures> early_;
};

// Prints one line on standard error for each collective that was called, and one for the teams.
void PrintFigures(const RunFigures& figures);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_STATISTICS_H_
