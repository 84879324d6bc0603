// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/statistics.h"

#include <cinttypes>
#include <string>

#include "client/mpi/api/output_line.h"

namespace copse::mpi {
namespace {

constexpr const char* kEntryNames[] = {
#define COPSE_MPI_NAME(name) "MPI_" #name,
    COPSE_MPI_ENTRIES(COPSE_MPI_NAME)
#undef COPSE_MPI_NAME
};

constexpr double kNanosecondsPerSecond = 1e9;

}  // namespace

const char* NameOf(Entry entry) { return kEntryNames[entry]; }

void Statistics::CountOffloaded(Entry entry, uint64_t nanoseconds) {
  rows_[entry].offloaded.fetch_add(1, std::memory_order_relaxed);
  rows_[entry].offloaded_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
}

void Statistics::CountPassed(Entry entry, Reason reason, uint64_t nanoseconds) {
  rows_[entry].passed[static_cast<int>(reason)].fetch_add(1, std::memory_order_relaxed);
  rows_[entry].passed_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
}

void Statistics::CountTeam(bool formed, uint64_t nanoseconds) {
  Teams& teams = formed ? formed_ : not_formed_;
  teams.count.fetch_add(1, std::memory_order_relaxed);
  teams.ns.fetch_add(nanoseconds, std::memory_order_relaxed);
}

void Statistics::Print(int rank, int size) const {
  PrintLine("collectives of rank %d of %d", rank, size);
  for (int entry = 0; entry < kEntryCount; ++entry) {
    const Row& row = rows_[entry];
    uint64_t passed = 0;
    std::string reasons;
    for (int reason = 0; reason < static_cast<int>(Reason::kCount); ++reason) {
      const uint64_t count = row.passed[reason];
      if (count == 0) continue;
      passed += count;
      reasons += reasons.empty() ? " (" : ", ";
      reasons += NameOf(static_cast<Reason>(reason)) + (": " + std::to_string(count));
    }
    if (!reasons.empty()) reasons += ")";
    if (row.offloaded == 0 && passed == 0) continue;
    // The memory order does not matter, as the counts are independent of each other.
    PrintLine("%s: offloaded %" PRIu64 " in %.6f s, by MPI %" PRIu64 " in %.6f s%s", NameOf(static_cast<Entry>(entry)),
              row.offloaded.load(), static_cast<double>(row.offloaded_ns) / kNanosecondsPerSecond, passed,
              static_cast<double>(row.passed_ns) / kNanosecondsPerSecond, reasons.c_str());
  }
  if (formed_.count + not_formed_.count == 0) return;
  // The memory order does not matter here either.
  PrintLine("teams: formed %" PRIu64 " in %.6f s, not formed %" PRIu64 " in %.6f s", formed_.count.load(),
            static_cast<double>(formed_.ns) / kNanosecondsPerSecond, not_formed_.count.load(),
            static_cast<double>(not_formed_.ns) / kNanosecondsPerSecond);
}

}  // namespace copse::mpi
