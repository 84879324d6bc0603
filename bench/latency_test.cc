// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <gtest/gtest.h>

#include <vector>

namespace copse::bench {
namespace {

TEST(LatencyTest, MeasuresEachCell) {
  std::vector<Row> rows;
  const absl::Status status = RunLatency({.quick = true}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 4u);
  for (const Row& row : rows) {
    EXPECT_EQ(row.metric, "latency") << row.what;
    EXPECT_GT(row.p10, 0) << row.what;
    EXPECT_LE(row.p10, row.median) << row.what;
    EXPECT_LE(row.median, row.p90) << row.what;
    EXPECT_FALSE(row.algorithm.empty()) << row.what;
  }
}

TEST(LatencyTest, ACellThatTakesTooLongIsUnfinished) {
  std::vector<Row> rows;
  const absl::Status status =
      RunLatency({.quick = true, .cell_timeout = absl::ZeroDuration()}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 4u);
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
}

}  // namespace
}  // namespace copse::bench
