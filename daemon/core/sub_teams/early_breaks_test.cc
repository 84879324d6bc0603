// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/early_breaks.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using schedule::Failure;
using schedule::FailureReport;

constexpr Incarnation kMember(1), kOther(2);

SharedLayout LayoutOf(uint64_t team) {
  schedule::TeamLayout layout{.id = TeamId(team)};
  layout.shape = {.node_of_rank = {NodeIndex(0)}, .node_count = 1};
  layout.nodes = {{"n1", kMember, ""}};
  return IndexLayout(layout);
}

TEST(EarlyBreaksTest, BreakOfAMemberIsTakenOnce) {
  EarlyBreaks breaks;
  const FailureReport why{Failure::kMemberLost, "gone"};
  breaks.Add(TeamId(7), kOther, {Failure::kInternal, "it is no member"});
  breaks.Add(TeamId(7), kMember, why);
  EXPECT_EQ(breaks.Take(*LayoutOf(8)), std::nullopt);
  EXPECT_EQ(breaks.Take(*LayoutOf(7)), why);
  EXPECT_EQ(breaks.Take(*LayoutOf(7)), std::nullopt);
}

TEST(EarlyBreaksTest, KeepsTheLast) {
  EarlyBreaks breaks;
  for (uint64_t team = 0; team <= EarlyBreaks::kMax; ++team) breaks.Add(TeamId(team), kMember, {});
  EXPECT_EQ(breaks.Take(*LayoutOf(0)), std::nullopt);
  EXPECT_NE(breaks.Take(*LayoutOf(1)), std::nullopt);
  EXPECT_NE(breaks.Take(*LayoutOf(EarlyBreaks::kMax)), std::nullopt);
}

}  // namespace
}  // namespace copse::daemon
