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

void Statistics::Comparison::Count(const PathMeans& means) {
  calls.fetch_add(1, std::memory_order_relaxed);
  copse_ns.fetch_add(static_cast<uint64_t>(means.copse), std::memory_order_relaxed);
  mpi_ns.fetch_add(static_cast<uint64_t>(means.mpi), std::memory_order_relaxed);
}

ComparedCalls Statistics::Comparison::Get() const { return {.calls = calls, .copse_ns = copse_ns, .mpi_ns = mpi_ns}; }

void Statistics::CountCompared(Entry entry, Path path, const PathMeans& means) {
  if (means.copse == 0 || means.mpi == 0) return;
  (path == Path::kCopse ? rows_[entry].by_copse : rows_[entry].by_mpi).Count(means);
}

// The memory order does not matter, as the counts are independent of each other.
RunFigures Statistics::Figures(int rank, int size) const {
  RunFigures figures = {.rank = rank, .size = size, .early = early_};
  figures.formed = {formed_.count, formed_.ns};
  figures.not_formed = {not_formed_.count, not_formed_.ns};
  for (int entry = 0; entry < kEntryCount; ++entry) {
    const Row& row = rows_[entry];
    CollectiveFigures calls = {.entry = static_cast<Entry>(entry),
                               .offloaded = row.offloaded,
                               .offloaded_ns = row.offloaded_ns,
                               .passed_ns = row.passed_ns,
                               .by_copse = row.by_copse.Get(),
                               .by_mpi = row.by_mpi.Get()};
    for (size_t reason = 0; reason < calls.passed.size(); ++reason) calls.passed[reason] = row.passed[reason];
    if (calls.offloaded + calls.all_passed() > 0) figures.collectives.push_back(calls);
  }
  return figures;
}

void PrintFigures(const RunFigures& figures) {
  PrintLine("collectives of rank %d of %d", figures.rank, figures.size);
  for (const CollectiveFigures& row : figures.collectives) {
    std::string reasons;
    for (size_t reason = 0; reason < row.passed.size(); ++reason) {
      if (row.passed[reason] == 0) continue;
      reasons += reasons.empty() ? " (" : ", ";
      reasons += NameOf(static_cast<Reason>(reason)) + (": " + std::to_string(row.passed[reason]));
    }
    if (!reasons.empty()) reasons += ")";
    PrintLine("%s: offloaded %" PRIu64 " in %.6f s, by MPI %" PRIu64 " in %.6f s%s", NameOf(row.entry), row.offloaded,
              static_cast<double>(row.offloaded_ns) / kNanosecondsPerSecond, row.all_passed(),
              static_cast<double>(row.passed_ns) / kNanosecondsPerSecond, reasons.c_str());
  }
  if (figures.formed.count + figures.not_formed.count == 0) return;
  PrintLine("teams: formed %" PRIu64 " in %.6f s, not formed %" PRIu64 " in %.6f s", figures.formed.count,
            static_cast<double>(figures.formed.ns) / kNanosecondsPerSecond, figures.not_formed.count,
            static_cast<double>(figures.not_formed.ns) / kNanosecondsPerSecond);
}

}  // namespace copse::mpi
