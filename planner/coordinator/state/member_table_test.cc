// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/member_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class MemberTableTest : public ::testing::Test {
 protected:
  MemberTableTest() {
    schedule::TeamLayout layout;
    layout.nodes = nodes_;
    layout.shape = {.node_of_rank = {NodeIndex(1), NodeIndex(0), NodeIndex(1), NodeIndex(2)}, .node_count = 3};
    members_.Assign(layout);
  }
  std::optional<uint32_t> Find(const char* name, uint64_t incarnation) const {
    return members_.Find(nodes_, name, Incarnation(incarnation));
  }
  const std::vector<schedule::TeamNode> nodes_ = {
      {"n3", Incarnation(7), ""}, {"n2", Incarnation(8), ""}, {"n10", Incarnation(9), ""}};
  MemberTable members_;
};

TEST_F(MemberTableTest, FindsAMemberByNameAndIncarnation) {
  EXPECT_EQ(Find("n3", 7), 0u);
  EXPECT_EQ(Find("n2", 8), 1u);
  EXPECT_EQ(Find("n10", 9), 2u);
  EXPECT_EQ(Find("n2", 9), std::nullopt);
  EXPECT_EQ(Find("n", 8), std::nullopt);
  EXPECT_EQ(Find("n4", 8), std::nullopt);
}

TEST_F(MemberTableTest, CountsTheRanksOfEachMember) {
  EXPECT_EQ(members_[0].ranks, 1u);
  EXPECT_EQ(members_[1].ranks, 2u);
  EXPECT_EQ(members_[2].ranks, 1u);
}

TEST_F(MemberTableTest, MembersThatLeftOrAreGoneDoNotRemain) {
  EXPECT_FALSE(members_.none_remains());
  members_.MarkLeft(0);
  members_.MarkLeft(0);
  members_.MarkGone(1);
  EXPECT_FALSE(members_.none_remains());
  members_.MarkLeft(2);
  members_.MarkGone(2);
  EXPECT_TRUE(members_.none_remains());
}

TEST_F(MemberTableTest, OnlyMembersThatRemainHaveToBeKnownAndToCommit) {
  members_.Report(0, EpochId(2));
  members_.Report(1, EpochId(1));
  EXPECT_FALSE(members_.all_are_known());
  members_.MarkLeft(2);
  EXPECT_TRUE(members_.all_are_known());
  EXPECT_FALSE(members_.AllCommitted(EpochId(2)));
  members_.Report(1, EpochId(2));
  EXPECT_TRUE(members_.AllCommitted(EpochId(2)));
  EXPECT_FALSE(members_.AllCommitted(EpochId(1)));
}

TEST_F(MemberTableTest, PreparedEpochsAreTakenOnceFromAllMembers) {
  members_.SetPrepared(0, EpochId(3));
  members_.SetPrepared(2, EpochId(4));
  members_.MarkGone(2);
  EXPECT_THAT(members_.TakePrepared(), ElementsAre(Pair(0, EpochId(3)), Pair(2, EpochId(4))));
  EXPECT_THAT(members_.TakePrepared(), IsEmpty());
  members_.SetPrepared(1, EpochId(5));
  members_.Report(1, EpochId(5));
  EXPECT_THAT(members_.TakePrepared(), IsEmpty());
}

}  // namespace
}  // namespace copse::coordinator
