// SPDX-License-Identifier: Apache-2.0
#include "bench/better_mpi.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace copse::bench {
namespace {

Row Value(const std::string& system, double median) {
  return {.what = "cell", .system = system, .metric = median > 0 ? "latency" : "unfinished", .median = median};
}

Row Ratio(const std::string& peer, double median) {
  Row row = Value("copse", median);
  row.peer = peer;
  if (median > 0) row.metric = "ratio";
  row.note = "5 runs";
  return row;
}

std::vector<Row> Pass(const std::vector<Row>& rows, uint32_t libraries = 2) {
  std::vector<Row> passed;
  const auto take = WithBetterMpi(libraries, [&](const Row& row) { passed.push_back(row); });
  for (const Row& row : rows) take(row);
  return passed;
}

TEST(BetterMpiTest, TheFasterLibraryIsTheOneToBeat) {
  const std::vector<Row> rows = Pass({Value("copse", 5), Ratio("openmpi", 0.8), Ratio("sockets", 3),
                                      Ratio("mpich", 0.4), Ratio("openmpi", 0.2), Ratio("mpich", 0.5)});
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[4].peer, kBetterMpi);
  EXPECT_EQ(rows[4].median, 0.8);
  EXPECT_EQ(rows[4].note, "openmpi; 5 runs");
  EXPECT_EQ(rows[7].median, 0.5);
  EXPECT_EQ(rows[7].note, "mpich; 5 runs");
}

TEST(BetterMpiTest, OneThatDidNotFinishIsNotTheFaster) {
  EXPECT_EQ(Pass({Ratio("openmpi", 0), Ratio("mpich", 0.5)}).back().median, 0.5);
  EXPECT_EQ(Pass({Ratio("openmpi", 0), Ratio("mpich", 0)}).back().metric, "unfinished");
  EXPECT_EQ(Pass({Ratio("mpich", 0.7)}, 1).back().peer, kBetterMpi);
}

std::vector<Row> TallyOf(const std::vector<Row>& rows) {
  Tally tally;
  for (const Row& row : Pass(rows)) Count(row, "copse", kBetterMpi, &tally);
  return RowsOf(tally, {.bench = "collectives", .system = "copse"});
}

TEST(TallyTest, CellsAheadAreCounted) {
  const std::vector<Row> rows =
      TallyOf({Value("copse", 5), Value("openmpi", 9), Ratio("openmpi", 0.8), Ratio("mpich", 0.4),  //
               Value("copse", 5), Ratio("openmpi", 1.5), Ratio("mpich", 0.4),                       //
               Value("copse", 5), Ratio("openmpi", 0), Ratio("mpich", 0),                           // they did not
               Value("copse", 5), Ratio("openmpi", 0.3), Ratio("mpich", 0.2)});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].metric, "cells not ahead");
  EXPECT_EQ(rows[0].median, 25);
  EXPECT_EQ(rows[0].note, "1 of 4");
  EXPECT_EQ(rows[0].bench, "collectives");
  EXPECT_EQ(rows[1].metric, "worst ratio");
  EXPECT_EQ(rows[1].median, 1.5);
  EXPECT_EQ(rows[1].note, "cell");
}

TEST(TallyTest, AnUnfinishedCellOfOursIsLost) {
  const std::vector<Row> rows = TallyOf({Value("copse", 0), Ratio("openmpi", 0), Ratio("mpich", 0),  //
                                         Value("copse", 5), Ratio("openmpi", 0.3), Ratio("mpich", 0.2)});
  EXPECT_EQ(rows[0].median, 50);
  EXPECT_EQ(rows[1].metric, "unfinished");
}

TEST(TallyTest, NothingIsSaidOfNoCells) { EXPECT_TRUE(TallyOf({Value("copse", 5)}).empty()); }

}  // namespace
}  // namespace copse::bench
