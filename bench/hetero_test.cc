// SPDX-License-Identifier: Apache-2.0
#include "bench/hetero.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "testbed/netns/test_network.h"

namespace copse::bench {
namespace {

TEST(HeteroTest, EverySystemCrossesTheSitesAndThePredictionIsThatOfThePlanThatRan) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) {
    GTEST_SKIP() << "needs root and TUN: " << possible;
  }
  std::map<std::string, int> values, ratios;
  const absl::Status status = RunHetero({.quick = true, .only = "allreduce 48 B"}, [&](const Row& row) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.note;
    if (!row.peer.empty()) {
      EXPECT_EQ(row.metric, "ratio");
      EXPECT_GT(row.median, 0) << row.peer;
      ++ratios[row.peer];
      return;
    }
    ++values[row.system + " " + row.metric];
    EXPECT_EQ(row.algorithm.empty(), row.system == "openmpi" || row.system == "mpich") << row.system;
    // Nobody hears of the farthest earlier, by far not.
    if (row.metric == "latency") {
      EXPECT_GT(row.median, 10'000) << row.system;
    } else {
      EXPECT_EQ(row.algorithm, "hierarchical");
      EXPECT_NE(row.note.find("predicted 1"), std::string::npos) << row.note;  // 10,000 to 19,999 us
    }
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(values, (std::map<std::string, int>{{"copse-best latency", 1},
                                                {"copse-best prediction error", 1},
                                                {"copse-bt latency", 1},
                                                {"copse-mgo latency", 1},
                                                {"mpich latency", 1},
                                                {"openmpi latency", 1}}));
  EXPECT_EQ(ratios, (std::map<std::string, int>{
                        {"better MPI", 1}, {"copse-bt", 1}, {"copse-mgo", 1}, {"mpich", 1}, {"openmpi", 1}}));
}

TEST(HeteroTest, BlocksGoOverTreesThatKnowTheSites) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) {
    GTEST_SKIP() << "needs root and TUN: " << possible;
  }
  std::map<std::string, int> kinds;
  const absl::Status status = RunHetero({.quick = true, .only = " gather 1 kB"}, [&](const Row& row) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.note;
    ++kinds[row.system + " " + row.metric];
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"copse-best latency", 1},
                                               {"copse-best prediction error", 1},
                                               {"copse-best ratio", 5},
                                               {"copse-bt latency", 1},
                                               {"copse-mgo latency", 1},
                                               {"mpich latency", 1},
                                               {"openmpi latency", 1}}));
}

}  // namespace
}  // namespace copse::bench
