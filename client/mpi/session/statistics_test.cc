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
  statistics.Print(0, 4);
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

}  // namespace
}  // namespace copse::mpi
