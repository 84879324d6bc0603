// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/unstored_changes.h"

#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

constexpr TeamId kTeam{1};

TEST(UnstoredChangesTest, ATeamsNewestChangeCountsUntilItIsRemoved) {
  UnstoredChanges changes;
  const StoreChange first = PutAborted{kTeam}, second = DropTeam{kTeam};
  EXPECT_EQ(changes.Add(first), 1u);
  EXPECT_EQ(changes.Add(second), 2u);
  EXPECT_EQ(changes.LastOf(kTeam), 2u);
  changes.Remove(1, first);
  EXPECT_EQ(changes.LastOf(kTeam), 2u);
  changes.Remove(2, second);
  EXPECT_EQ(changes.LastOf(kTeam), 0u);
  EXPECT_EQ(changes.LastOf(TeamId{2}), 0u);
}

TEST(UnstoredChangesTest, ChangesOfTheClusterCountByThemselves) {
  UnstoredChanges changes;
  changes.Add(PutTerm{7});
  changes.Add(DropTopology{1});
  EXPECT_EQ(changes.last_of_cluster(), 1u);
  EXPECT_EQ(changes.last(), 2u);
  EXPECT_FALSE(changes.IsStored(1));
  changes.SetStored(1);
  EXPECT_TRUE(changes.IsStored(1));
  EXPECT_FALSE(changes.IsStored(2));
}

}  // namespace
}  // namespace copse::coordinator
