// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/ended_teams.h"

#include <gtest/gtest.h>

namespace copse::coordinator {
namespace {

TEST(EndedTeamsTest, ForgetsTheTeamThatEndedFirst) {
  EndedTeams ended;
  for (uint64_t id = EndedTeams::kMax; id >= 1; --id) ended.Insert(TeamId{id});
  ended.Insert(TeamId{1});  // again
  EXPECT_TRUE(ended.Has(TeamId{EndedTeams::kMax}));
  ended.Insert(TeamId{EndedTeams::kMax + 1});
  EXPECT_FALSE(ended.Has(TeamId{EndedTeams::kMax}));
  EXPECT_TRUE(ended.Has(TeamId{1}));
  EXPECT_TRUE(ended.Has(TeamId{EndedTeams::kMax + 1}));
}

}  // namespace
}  // namespace copse::coordinator
