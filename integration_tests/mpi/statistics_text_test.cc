// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/mpi/statistics_text.h"

#include "gtest/gtest.h"

namespace copse::mpi_test {
namespace {

TEST(ParseStatisticsTextTest, CountsAndReasonsAreRead) {
  const auto all = ParseStatisticsText(
      {"copse-mpi: collectives of rank 0 of 4", "what the program says: offloaded nothing",
       "copse-mpi: MPI_Bcast: offloaded 3 in 0.250000 s, by MPI 5 in 0.125000 s (first calls: 4, too long: 1)",
       "copse-mpi: MPI_Scan: offloaded 1 in 0.002190 s, by MPI 0 in 0.000000 s"});
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 2u);
  const CollectiveCounts& bcast = all->at("MPI_Bcast");
  EXPECT_EQ(bcast.offloaded, 3u);
  EXPECT_EQ(bcast.by_mpi, 5u);
  EXPECT_EQ(bcast.reasons, (std::map<std::string, uint64_t>{{"first calls", 4}, {"too long", 1}}));
  EXPECT_TRUE(all->at("MPI_Scan").reasons.empty());
}

TEST(ParseStatisticsTextTest, ALineThatSaysItOtherwiseIsNamed) {
  for (const char* line : {"copse-mpi: MPI_Bcast: offloaded many in 0.1 s, by MPI 5 in 0.1 s",
                           "copse-mpi: MPI_Bcast: offloaded 3 in 0.1 s",
                           "copse-mpi: MPI_Bcast: offloaded 3 in 0.1 s, by MPI 5 in 0.1 s (first calls)"}) {
    const absl::Status status = ParseStatisticsText({line}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_NE(status.ToString().find(line), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace copse::mpi_test
