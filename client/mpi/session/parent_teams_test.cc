// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/parent_teams.h"

#include <vector>

#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

// A team that is nothing but an address.
ParentTeam Team(uint64_t id) {
  const auto place = std::make_shared<int>(0);
  return {std::shared_ptr<copse_team_t>(place, reinterpret_cast<copse_team_t*>(place.get())), id};
}

const std::vector<int> kWorld = {0, 1, 2, 3};

TEST(ParentTeamsTest, TheOldestTeamWithTheSameRanksIsTheParentOfADuplicate) {
  ParentTeams teams;
  EXPECT_EQ(teams.Find(kWorld).team, nullptr);
  const ParentTeam reversed = Team(1), first = Team(2), second = Team(3);
  teams.Add({3, 2, 1, 0}, reversed);
  teams.Add(kWorld, first);
  teams.Add(kWorld, second);
  EXPECT_EQ(teams.Find(kWorld).team, first.team);
  EXPECT_EQ(teams.Find(kWorld).id, 2u);
}

TEST(ParentTeamsTest, OthersHaveTheSmallestTeamWithAllTheirRanks) {
  ParentTeams teams;
  const ParentTeam world = Team(1), half = Team(2), other = Team(3);
  teams.Add(kWorld, world);
  teams.Add({2, 0, 3}, half);
  teams.Add({0, 1}, other);
  EXPECT_EQ(teams.Find({0, 2}).id, 2u);
  EXPECT_EQ(teams.Find({1, 3}).id, 1u);
  EXPECT_EQ(teams.Find({1, 0}).id, 3u);
  EXPECT_EQ(teams.Find({0, 4}).team, nullptr);
}

TEST(ParentTeamsTest, TeamsThatHaveEndedOrFailedAreNoParents) {
  ParentTeams teams;
  ParentTeam first = Team(1), second = Team(2), third = Team(3);
  for (const ParentTeam& team : {first, second, third}) teams.Add(kWorld, team);
  first.team = nullptr;
  EXPECT_EQ(teams.Find(kWorld).id, 2u);
  teams.Remove(second.team.get());
  EXPECT_EQ(teams.Find(kWorld).id, 3u);
  third.team = nullptr;
  EXPECT_EQ(teams.Find(kWorld).team, nullptr);
}

}  // namespace
}  // namespace copse::mpi
