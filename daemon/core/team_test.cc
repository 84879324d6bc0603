// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team.h"

#include "daemon/core/team_fixture.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using schedule::Failure;

using TeamTest = TeamFixture;

TEST_F(TeamTest, EndsIfAllRanksOfTheNodeDieBeforeItsCommit) {
  PrepareTeam();
  for (Process& process : processes_) {
    core_.Detach(process.id, /*died=*/true, "killed");
    Take<schedule::CancelJoin>();
  }
  CommitTeam();
  const auto broken = Take<schedule::TeamBroken>();
  EXPECT_EQ(broken.team, kTeam);
  EXPECT_EQ(broken.why.failure, Failure::kMemberLost);
  EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(core_.Status().teams, 0u);
}

TEST_F(TeamTest, RanksThatLiveAreToldOfOnesThatDiedBeforeItsCommit) {
  PrepareTeam();
  core_.CancelCreateTeam(processes_[0].id, 1, "gave up");
  Take<schedule::CancelJoin>();
  CommitTeam();
  EXPECT_EQ(Take<schedule::TeamBroken>().why.failure, Failure::kMemberLost);
  EXPECT_EQ(EndOf(1, Post(1, schedule::Collective::kBarrier)).failure, Failure::kMemberLost);
  core_.DestroyTeam(processes_[1].id, 2, processes_[1].handle);
  EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
}

}  // namespace
}  // namespace copse::daemon
