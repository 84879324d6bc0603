// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/early_labels.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr Incarnation kPeer(7), kOther(8);

TEST(EarlyLabelsTest, LabelsAreTakenOnce) {
  EarlyLabels early;
  early.Add(TeamId(1), kPeer, 10);
  early.Add(TeamId(2), kPeer, 20);
  early.Add(TeamId(1), kOther, 11);
  EXPECT_THAT(early.Take(TeamId(1)), ElementsAre(Pair(kPeer, 10u), Pair(kOther, 11u)));
  EXPECT_THAT(early.Take(TeamId(1)), IsEmpty());
  EXPECT_THAT(early.Take(TeamId(2)), ElementsAre(Pair(kPeer, 20u)));
}

TEST(EarlyLabelsTest, TheFirstTeamsAreForgotten) {
  EarlyLabels early;
  for (uint64_t team = 1; team <= EarlyLabels::kTeamsMax + 1; ++team) early.Add(TeamId(team), kPeer, 1);
  EXPECT_THAT(early.Take(TeamId(1)), IsEmpty());
  EXPECT_THAT(early.Take(TeamId(2)), SizeIs(1));
  EXPECT_THAT(early.Take(TeamId(EarlyLabels::kTeamsMax + 1)), SizeIs(1));
}

TEST(EarlyLabelsTest, OneTeamHasAMaximum) {
  EarlyLabels early;
  for (size_t i = 0; i <= EarlyLabels::kLabelsMax; ++i) early.Add(TeamId(1), kPeer, 1);
  EXPECT_THAT(early.Take(TeamId(1)), SizeIs(EarlyLabels::kLabelsMax));
}

}  // namespace
}  // namespace copse::daemon
