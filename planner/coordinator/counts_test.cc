// SPDX-License-Identifier: Apache-2.0
//
// What the coordinator counts of nodes, teams and formations.
#include <cstdint>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using Counts = std::map<std::string, uint64_t>;

TEST_F(TwoNodesTest, NodesAreCountedByTheirStates) {
  EXPECT_EQ(coordinator->view().NodesByState(), Counts({{"ready", 2}, {"draining", 0}, {"away", 0}, {"lost", 0}}));
  ASSERT_TRUE(SetDraining("n1", true).ok());
  coordinator->OnDisconnected(2);
  EXPECT_EQ(coordinator->view().NodesByState(), Counts({{"ready", 0}, {"draining", 1}, {"away", 1}, {"lost", 0}}));
  Counts listed = {{"ready", 0}, {"draining", 0}, {"away", 0}, {"lost", 0}};
  for (const NodeInfo& node : coordinator->view().Nodes()) ++listed[node.state];
  EXPECT_EQ(coordinator->view().NodesByState(), listed);
}

TEST_F(TwoNodesTest, TeamsAreCountedByTheirStates) {
  Join(1, 0, 2, 11);  // the other rank is missing
  const schedule::Prepare first = FormTeam("first");
  FormTeam("second");
  EXPECT_EQ(coordinator->view().TeamsByState(), Counts({{"forming", 1}, {"ready", 2}, {"broken", 0}}));
  ASSERT_TRUE(coordinator->BreakTeam(first.layout.id, "a test").ok());
  EXPECT_EQ(coordinator->view().TeamsByState(), Counts({{"forming", 1}, {"ready", 1}, {"broken", 1}}));
  Join(2, 1, 2, 21);  // complete, but not decided
  EXPECT_EQ(coordinator->view().TeamsByState(), Counts({{"forming", 1}, {"ready", 1}, {"broken", 1}}));
}

TEST_F(TwoNodesTest, AFormationTakesTheTimeFromItsLastJoin) {
  Join(1, 0, 2, 11);
  Advance(absl::Seconds(5));  // a late rank is not the planner's time
  Join(2, 1, 2, 21);
  const auto prepare = TakeBoth<schedule::Prepare>();
  Advance(absl::Milliseconds(20));
  AcceptBoth(prepare);
  EXPECT_EQ(coordinator->formations().formed(), 1u);
  EXPECT_EQ(coordinator->formations().time_ns().max(), 20'000'000u);
  EXPECT_EQ(coordinator->formations().failed(), 0u);
  EXPECT_EQ(coordinator->formations().canceled(), 0u);
}

TEST_F(TeamTest, FormationsThatDoNotFormHaveFailedOrWereCanceled) {
  Join(1, 0, 2, 11);
  coordinator->OnMessage(1, schedule::CancelJoin{11, {schedule::Failure::kCanceled, "the rank withdrew"}});
  EXPECT_EQ(coordinator->formations().canceled(), 1u);
  Join(1, 0, 2, 12);
  Advance(options.team_formation_timeout * 2);  // the other rank does not come
  EXPECT_EQ(coordinator->formations().failed(), 1u);
  Join(1, 0, 2, 13);
  Join(2, 1, 2, 23);
  coordinator->OnDisconnected(2);  // the daemons will ask again
  EXPECT_EQ(coordinator->formations().canceled(), 2u);
  EXPECT_EQ(coordinator->formations().failed(), 1u);
  EXPECT_EQ(coordinator->formations().formed(), 1u) << "by the fixture";
}

TEST_F(TeamTest, AnAbortedSwitchIsNoFormation) {
  coordinator->ReplanTeam(team.layout.id, {}, [](const absl::Status&) {});
  Advance(options.prepare_timeout * 2);  // nobody answers
  EXPECT_EQ(coordinator->formations().failed(), 0u);
  EXPECT_EQ(coordinator->formations().formed(), 1u);
}

}  // namespace
}  // namespace copse::coordinator
