// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/cluster_term.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

schedule::Registered Planner(uint64_t term, const std::string& cluster) {
  schedule::Registered planner;
  planner.term = term;
  planner.cluster = cluster;
  return planner;
}

TEST(ClusterTermTest, OfOneClusterTheHighestTermCounts) {
  ClusterTerm known;
  EXPECT_FALSE(known.IsAheadOf(Planner(3, "one")));
  known.Follow(Planner(5, "one"));
  known.Follow(Planner(4, ""));  // an earlier planner tells no cluster
  EXPECT_EQ(known.term(), 5u);
  EXPECT_EQ(known.cluster(), "one");
  EXPECT_TRUE(known.IsAheadOf(Planner(4, "one")));
  EXPECT_TRUE(known.IsAheadOf(Planner(4, "")));
  EXPECT_FALSE(known.IsAheadOf(Planner(0, "one")));  // nor does it tell its term
  EXPECT_FALSE(known.IsAheadOf(Planner(5, "one")));
}

TEST(ClusterTermTest, TermsOfTwoClustersAreNotRelated) {
  ClusterTerm known;
  known.Follow(Planner(5, "one"));
  EXPECT_FALSE(known.IsAheadOf(Planner(2, "two")));
  known.Follow(Planner(2, "two"));
  EXPECT_EQ(known.term(), 2u);
  EXPECT_EQ(known.cluster(), "two");
  known.SetCluster("three");
  EXPECT_FALSE(known.IsAheadOf(Planner(1, "four")));
  EXPECT_TRUE(known.IsAheadOf(Planner(1, "three")));
}

}  // namespace
}  // namespace copse::daemon
