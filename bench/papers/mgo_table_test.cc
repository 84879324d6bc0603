// SPDX-License-Identifier: Apache-2.0
#include "bench/papers/mgo_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/benchmarks.h"
#include "bench/targets.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::bench {
namespace {

using ::testing::HasSubstr;

std::vector<Row> RowsOf(const Options& options) {
  std::vector<Row> rows;
  const absl::Status status = RunMgoTable(options, {}, [&](const Row& row) { rows.push_back(row); });
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

const Row& Find(const std::vector<Row>& rows, const std::string& what, const std::string& algorithm, uint32_t nodes,
                const std::string& metric) {
  for (const Row& row : rows) {
    if (row.what == what && row.algorithm == algorithm && row.nodes == nodes && row.metric == metric) return row;
  }
  ADD_FAILURE() << "no row " << what << " " << algorithm << " " << nodes << " " << metric;
  static const auto& none = *new Row();
  return none;
}

// What the text says of MGO is what the table gives, so both were copied well, and the misprint is one.
TEST(PublishedTest, TheRangesAreTheTables) {
  for (const std::string peer : {"FT", "BT", "FEF", "FCEF", "LA"}) {
    double least = 100, most = 0;
    for (const uint32_t nodes : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u}) {
      const double percent = 100 * (1 - *PublishedMs("MGO", nodes) / *PublishedMs(peer, nodes));
      least = std::min(least, percent);
      most = std::max(most, percent);
    }
    EXPECT_EQ(std::round(least), PublishedImprovement(peer)->least) << peer;
    EXPECT_EQ(std::round(most), PublishedImprovement(peer)->most) << peer;
  }
  EXPECT_FALSE(PublishedMs("best", 4).has_value());
  EXPECT_FALSE(PublishedMs("FT", 5).has_value());
  EXPECT_FALSE(PublishedImprovement("best").has_value());
}

TEST(MgoTableTest, HasThePublishedValuesBesideTheMeans) {
  const std::vector<Row> rows = RowsOf({.quick = true, .only = "bcast 1 kB"});
  EXPECT_EQ(Find(rows, "bcast 1 kB, published", "FEF", 16, "mean time").median, 3977.41);
  const Row& mgo = Find(rows, "bcast 1 kB, sound", "MGO", 32, "mean time");
  EXPECT_EQ(mgo.runs, 3u);
  EXPECT_GE(mgo.median, mgo.p10);
  EXPECT_LE(mgo.median, mgo.p90);
  EXPECT_THAT(mgo.note, HasSubstr("published 1964.7, here "));
  for (const uint32_t nodes : {4u, 8u, 16u, 32u}) {
    EXPECT_LE(Find(rows, "bcast 1 kB, sound", "best", nodes, "mean time").median,
              Find(rows, "bcast 1 kB, sound", "MGO", nodes, "mean time").median);
  }
  // What overheads are left out of is worse where they are all.
  EXPECT_GT(Find(rows, "bcast 1 kB, network", "FCEF_bhat", 32, "mean time").median,
            Find(rows, "bcast 1 kB, sound", "FCEF", 32, "mean time").median);
  const double flat = Find(rows, "bcast 1 kB, sound", "FT", 32, "mean time").median;
  const Row& most = Find(rows, "bcast 1 kB, MGO beside FT, sound", "MGO", 32, "most improvement");
  EXPECT_NEAR(most.median, 100 * (1 - mgo.median / flat), 1e-9);
  EXPECT_THAT(most.note, HasSubstr("published 98"));
}

TEST(MgoTableTest, CollectivesOfBlocksHaveTheirOwnTimes) {
  const std::vector<Row> rows = RowsOf({.quick = true, .only = "16x1"});
  double mgo_ms = 0;
  for (const std::string what : {"scatter 1 kB, sound", "gather 1 kB, sound", "allgather 1 kB, sound"}) {
    const Row& mgo = Find(rows, what, "MGO", 16, "mean time");
    EXPECT_LT(mgo.median, Find(rows, what, "FT", 16, "mean time").median) << what;
    EXPECT_LE(Find(rows, what, "best", 16, "mean time").median, mgo.median) << what;
    EXPECT_EQ(mgo.note.find("published"), std::string::npos);
    // These clusters' nodes send and receive at one cost, so that a gather is a scatter; an allgather is more.
    EXPECT_GE(mgo.median, mgo_ms - 1e-6) << what;
    mgo_ms = mgo.median;
  }
  EXPECT_NEAR(Find(rows, "gather 1 kB, sound", "MGO", 16, "mean time").median,
              Find(rows, "scatter 1 kB, sound", "MGO", 16, "mean time").median, 1e-6);
}

TEST(MgoTableTest, IsTheSameEachTime) {
  const Options options{.quick = true, .only = "16x1 bcast"};
  const std::vector<Row> first = RowsOf(options), second = RowsOf(options);
  ASSERT_EQ(first.size(), second.size());
  ASSERT_GT(first.size(), 20u);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(ToJson(first[i], {}), ToJson(second[i], {}));
    EXPECT_EQ(first[i].nodes, 16u) << "what is not wanted is not made, nor a range over it";
  }
}

TEST(MgoTableTest, ItsTargetIsOfARowThatThereIs) {
  const auto targets = LoadTargets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  for (const Target& target : *targets) {
    if (target.bench != "mgo-table") continue;
    EXPECT_THAT(target.what, HasSubstr("bcast 1 kB, sound"));
    Row row = Find(RowsOf({.quick = true, .only = "32x1 bcast 1 kB"}), target.what, "MGO", 32, target.metric);
    row.nodes = target.nodes;
    SetTarget(*targets, &row);
    EXPECT_TRUE(row.target.has_value());
  }
}

}  // namespace
}  // namespace copse::bench
