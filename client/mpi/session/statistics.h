// SPDX-License-Identifier: Apache-2.0
//
// What became of a process's collective calls, for copse-run --stats.
#ifndef COPSE_CLIENT_MPI_SESSION_STATISTICS_H_
#define COPSE_CLIENT_MPI_SESSION_STATISTICS_H_

#include <atomic>
#include <cstdint>

#include "client/mpi/api/back_end.h"
#include "client/mpi/data/reason.h"

namespace copse::mpi {

// "MPI_Barrier"
const char* NameOf(Entry entry);

// Counts of one process. Thread-safe.
class Statistics {
 public:
  // `nanoseconds` counts if times are kept.
  void CountOffloaded(Entry entry, uint64_t nanoseconds);
  void CountPassed(Entry entry, Reason reason, uint64_t nanoseconds);
  // A team that was to be formed. What it took is no part of the call that it was formed for.
  void CountTeam(bool formed, uint64_t nanoseconds);

  // One line on standard error for each collective that was called, and one for the teams.
  void Print(int rank, int size) const;

 private:
  struct Row {
    std::atomic<uint64_t> offloaded, offloaded_ns, passed_ns;
    std::atomic<uint64_t> passed[static_cast<int>(Reason::kCount)];
  };
  Row rows_[kEntryCount] = {};
  struct Teams {
    std::atomic<uint64_t> count, ns;
  };
  Teams formed_ = {}, not_formed_ = {};
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_STATISTICS_H_
