// SPDX-License-Identifier: Apache-2.0
#include "bench/model.h"

#include <gtest/gtest.h>

#include <vector>

namespace copse::bench {
namespace {

TEST(ModelTest, ComparesEachCellAndSumsUp) {
  std::vector<Row> rows;
  const absl::Status status = RunModel({.quick = true}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 9u);  // two trees, four collectives, and the sum
  for (const Row& row : rows) EXPECT_EQ(row.metric, "error") << row.what;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    EXPECT_EQ(rows[i].runs, 60u);
    EXPECT_NE(rows[i].note.find("predicted "), std::string::npos);
    EXPECT_FALSE(rows[i].target.has_value());
  }
  EXPECT_EQ(rows.back().runs, 8u);
  EXPECT_EQ(rows.back().target, 20);
}

TEST(ModelTest, ATeamThatTakesTooLongIsUnfinished) {
  std::vector<Row> rows;
  const absl::Status status =
      RunModel({.quick = true, .cell_timeout = absl::ZeroDuration()}, [&](const Row& row) { rows.push_back(row); });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 2u);
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
}

}  // namespace
}  // namespace copse::bench
