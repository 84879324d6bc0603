// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <gtest/gtest.h>

#include <vector>

namespace copse::bench {
namespace {

TEST(ModelTest, CalibratesOnSomeAndPredictsTheOthers) {
  std::vector<Row> rows;
  const absl::Status status = RunModel({.quick = true}, {}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  // Four collectives on two nodes, and on two trees and the planner's choice of four; the fit; the order; the sum.
  ASSERT_EQ(rows.size(), 19u);
  uint32_t predicted = 0, calibrated = 0, chosen = 0;
  for (size_t i = 0; i + 3 < rows.size(); ++i) {
    (rows[i].metric == "error" ? predicted : calibrated) += 1;
    const bool is_chosen = rows[i].what.find("planner's choice") != std::string::npos;
    chosen += is_chosen;
    EXPECT_EQ(rows[i].metric == "residual",
              rows[i].nodes == 2 || (!is_chosen && rows[i].algorithm == "flat" &&
                                     (rows[i].collective == "barrier" || rows[i].collective == "allreduce")))
        << rows[i].what;
    EXPECT_FALSE(rows[i].algorithm.empty()) << rows[i].what;
    EXPECT_EQ(rows[i].runs, 3u);
    EXPECT_NE(rows[i].note.find("predicted "), std::string::npos);
  }
  EXPECT_EQ(calibrated, 6u);
  EXPECT_EQ(predicted, 10u);
  EXPECT_EQ(chosen, 4u);
  EXPECT_EQ(rows[16].metric, "residual");
  EXPECT_EQ(rows[16].runs, 6u);
  EXPECT_NE(rows[16].note.find("takeover_ns "), std::string::npos);
  EXPECT_EQ(rows[17].metric, "misordered");
  EXPECT_EQ(rows[18].metric, "error");
  EXPECT_EQ(rows[18].runs, 10u);
}

TEST(ModelTest, TeamsThatTakeTooLongAreUnfinished) {
  std::vector<Row> rows;
  const absl::Status status =
      RunModel({.quick = true, .cell_timeout = absl::ZeroDuration()}, {}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 3u);
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
}

}  // namespace
}  // namespace copse::bench
