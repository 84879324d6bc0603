// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/statistics.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using copse::testing::Names;

std::string Printed(const Statistics& statistics) {
  ::testing::internal::CaptureStderr();
  PrintFigures(statistics.Figures(0, 4));
  return ::testing::internal::GetCapturedStderr();
}

TEST(StatisticsTest, CollectivesThatWereNotCalledHaveNoLine) {
  const Statistics statistics;
  EXPECT_EQ(Printed(statistics), "copse-mpi: collectives of rank 0 of 4\n");
}

TEST(StatisticsTest, ALineHasCountsTimesAndReasons) {
  Statistics statistics;
  statistics.CountOffloaded(kEntryAllreduce, 1'500'000'000);
  statistics.CountPassed(kEntryAllreduce, Reason::kFirstCalls, 250'000'000);
  statistics.CountPassed(kEntryAllreduce, Reason::kFirstCalls, 250'000'000);
  statistics.CountPassed(kEntryAllreduce, Reason::kTooLong, 0);
  statistics.CountTeam(true, 3'000'000);
  statistics.CountTeam(false, 2'000'000);
  EXPECT_THAT(Printed(statistics),
              Names("MPI_Allreduce: offloaded 1 in 1.500000 s, by MPI 3 in 0.500000 s (first calls: 2, too long: 1)",
                    "teams: formed 1 in 0.003000 s, not formed 1 in 0.002000 s"));
}

TEST(StatisticsTest, CallsCountAsComparedOnceBothPathsAreMeasured) {
  Statistics statistics;
  for (const PathMeans& means : {PathMeans{}, PathMeans{.copse = 5}, PathMeans{.mpi = 5}}) {
    statistics.CountOffloaded(kEntryBcast, 1);
    statistics.CountCompared(kEntryBcast, Path::kCopse, means);
  }
  statistics.CountPassed(kEntryBcast, Reason::kFasterByMpi, 1);
  statistics.CountCompared(kEntryBcast, Path::kMpi, {.copse = 7, .mpi = 5});
  const RunFigures figures = statistics.Figures(0, 4);
  ASSERT_EQ(figures.collectives.size(), 1u);
  const CollectiveFigures& row = figures.collectives[0];
  EXPECT_EQ(row.entry, kEntryBcast);
  EXPECT_EQ(row.by_copse.calls, 0u);
  EXPECT_EQ(row.by_mpi.calls, 1u);
  EXPECT_EQ(row.by_mpi.copse_ns, 7u);
  EXPECT_EQ(row.by_mpi.mpi_ns, 5u);
}

}  // namespace
}  // namespace copse::mpi
