// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/checked_prepare.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "collectives/collective.h"
#include "daemon/core/testing/test_plan.h"
#include "gtest/gtest.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr Incarnation kSelf{101};
constexpr uint32_t kLarge = VerifiedPlans::kSmallMax + 1;

// Returns a team with a rank on each node, whose trees are chains.
schedule::Prepare PrepareOf(uint64_t team, uint32_t nodes, Family family = Family::kCommon) {
  schedule::Prepare prepare{.layout = {.id = TeamId(team), .shape = {.node_count = nodes}}, .epoch = EpochId(1)};
  prepare.layout.identity.family = family;
  std::vector<std::vector<uint32_t>> chain(nodes);
  for (uint32_t n = 0; n < nodes; ++n) {
    prepare.layout.shape.node_of_rank.push_back(NodeIndex(n));
    prepare.layout.nodes.push_back({"n" + std::to_string(n), Incarnation(100 + n), ""});
    if (n > 0) chain[n].push_back(n - 1);
    if (n + 1 < nodes) chain[n].push_back(n + 1);
  }
  for (const Collective c : CollectivesOf(family)) prepare.plans.push_back(schedule::EncodePlan(TestPlan(c, chain)));
  return prepare;
}

TEST(CheckedPrepareTest, AValidTeamHasLayoutAndPlans) {
  schedule::Prepare prepare = PrepareOf(7, 3);
  prepare.requests = {{4, Rank(1)}};
  const CheckedPrepare checked = PrepareChecker(kSelf).Check(prepare);
  ASSERT_TRUE(checked.layout.ok()) << checked.layout.status();
  ASSERT_TRUE(checked.plans.ok()) << checked.plans.status();
  EXPECT_EQ((*checked.layout)->layout(), prepare.layout);
  EXPECT_EQ((*checked.layout)->NodeOf(kSelf), NodeIndex(1));
  EXPECT_EQ((*checked.layout)->NodeOf(Incarnation(99)), std::nullopt);
  EXPECT_EQ(*(*checked.plans)->Encoded(), prepare.plans);
  EXPECT_EQ((*checked.plans)->TreeOf(0), nullptr);  // made at the first call
  EXPECT_EQ(checked.head.id, TeamId(7));
  EXPECT_EQ(checked.epoch, EpochId(1));
  EXPECT_EQ(checked.requests, prepare.requests);
}

TEST(CheckedPrepareTest, DaemonsThatFormSubTeamsHaveATree) {
  PrepareChecker checker(kSelf);
  schedule::Prepare prepare = PrepareOf(7, 4);
  EXPECT_EQ(checker.Check(prepare).tree, std::nullopt);
  prepare.has_sub_teams = true;
  EXPECT_EQ(checker.Check(prepare).tree, (TreePlace{NodeIndex(1), {}}));
  prepare.plans.front().pop_back();
  EXPECT_EQ(checker.Check(prepare).tree, std::nullopt);
}

TEST(CheckedPrepareTest, MistakesAreNamed) {
  PrepareChecker checker(kSelf);
  schedule::Prepare prepare = PrepareOf(7, 2);
  prepare.layout.window = 3;
  EXPECT_THAT(checker.Check(prepare).layout.status(), FailsWith(kInvalid, "window=3"));
  EXPECT_THAT(checker.Check(prepare).plans.status(), FailsWith(kInvalid, "window=3"));
  prepare = PrepareOf(7, 2);
  prepare.layout.nodes.pop_back();
  EXPECT_THAT(checker.Check(prepare).layout.status(), FailsWith(kInvalid, "nodes=1"));
  prepare = PrepareOf(7, 2);
  prepare.layout.shape.node_of_rank.pop_back();
  EXPECT_THAT(checker.Check(prepare).layout.status(), FailsWith(kInvalid));
  prepare = PrepareOf(7, 2);
  prepare.plans = PrepareOf(7, 3).plans;
  EXPECT_THAT(checker.Check(prepare).plans.status(), FailsWith(kInvalid, "nodes=3", "nodes=2"));
  EXPECT_TRUE(checker.Check(prepare).layout.ok());
  prepare.plans = {"garbage"};
  EXPECT_FALSE(checker.Check(prepare).plans.ok());
  EXPECT_THAT(PrepareChecker(Incarnation(1)).Check(PrepareOf(7, 2)).plans.status(), FailsWith(kInvalid, "this daemon"));
}

TEST(CheckedPrepareTest, ALargeTeamIsIndexedAndItsPlansShareATree) {
  const schedule::Prepare prepare = PrepareOf(7, kLarge);
  const CheckedPrepare checked = PrepareChecker(kSelf).Check(prepare);
  ASSERT_TRUE(checked.plans.ok()) << checked.plans.status();
  const VerifiedPlans& plans = **checked.plans;
  ASSERT_NE(plans.TreeOf(0), nullptr);
  for (size_t place = 0; place < plans.plans().size(); ++place) {
    EXPECT_EQ(plans.TreeOf(place), plans.TreeOf(0));
    EXPECT_EQ(plans.BlocksOf(place), nullptr);
  }
  EXPECT_EQ(plans.TreeOf(0)->Towards(5, kLarge - 1), 6u);
  EXPECT_EQ(*plans.Encoded(), prepare.plans);
  for (uint32_t n = 0; n < kLarge; ++n) EXPECT_EQ((*checked.layout)->NodeOf(Incarnation(100 + n)), NodeIndex(n));
  EXPECT_EQ((*checked.layout)->NodeOf(Incarnation(100 + kLarge)), std::nullopt);
}

TEST(CheckedPrepareTest, BlockCollectivesOfALargeTeamHaveTheirOrder) {
  const CheckedPrepare checked = PrepareChecker(kSelf).Check(PrepareOf(7, kLarge, Family::kRooted));
  ASSERT_TRUE(checked.plans.ok()) << checked.plans.status();
  for (size_t place = 0; place < (*checked.plans)->plans().size(); ++place) {
    ASSERT_NE((*checked.plans)->BlocksOf(place), nullptr);
    EXPECT_EQ((*checked.plans)->BlocksOf(place)->order.node_count(), kLarge);
  }
}

TEST(CheckedPrepareTest, EpochsAndDerivedTeamsShareTheIndexWhileTheTeamIsThere) {
  PrepareChecker checker(kSelf);
  schedule::Prepare prepare = PrepareOf(7, 3);
  prepare.layout.nodes[0].worker_address = "address of n0";
  const SharedLayout first = checker.Check(prepare).layout.value();
  prepare.layout.nodes[0].worker_address = "";
  EXPECT_EQ(checker.Check(prepare).layout.value(), first);  // nothing is new
  prepare.layout.nodes[2].worker_address = "address of n2";
  const SharedLayout second = checker.Check(prepare).layout.value();
  EXPECT_EQ(second->members(), first->members());
  EXPECT_EQ(second->layout().nodes[0].worker_address, "address of n0");
  EXPECT_EQ(second->layout().nodes[2].worker_address, "address of n2");
  EXPECT_TRUE(IsSameTeam(*first, *second));

  schedule::Prepare derived = PrepareOf(8, 3, Family::kRooted);
  derived.layout.parent = TeamId(7);
  const SharedLayout rooted = checker.Check(derived).layout.value();
  EXPECT_EQ(rooted->members(), first->members());
  EXPECT_TRUE(HaveSameMembers(*first, *rooted));
  EXPECT_FALSE(IsSameTeam(*first, *rooted));
  derived.layout.nodes[1].name = "another";
  const SharedLayout other = checker.Check(derived).layout.value();
  EXPECT_FALSE(HaveSameMembers(*first, *other));
}

}  // namespace
}  // namespace copse::daemon
