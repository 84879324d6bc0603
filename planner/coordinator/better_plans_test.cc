// SPDX-License-Identifier: Apache-2.0
//
// Teams that form with quick plans, and get better ones.
#include <map>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using testing::Names;

TEST(SavedUsTest, CountsEachPlansCallsByItsSaving) {
  const std::vector<PlanId> plans = {PlanId(1), PlanId(2), PlanId(3)};
  const std::vector<double> savings = {10, -5, 7};
  EXPECT_EQ(SavedUs(savings, plans, {}), 0);
  EXPECT_EQ(SavedUs(savings, plans, {{PlanId(1), 3}, {PlanId(2), 4}, {PlanId(9), 100}}), 10);
  EXPECT_EQ(SavedUs({}, plans, {{PlanId(1), 3}}), 0);
}

class BetterPlansTest : public TwoNodesTest {
 protected:
  BetterPlansTest() { plan_maker.quick = true; }

  void Form() { team = FormTeam(); }
  TeamId id() const { return team.layout.id; }
  std::string Algorithm() const { return coordinator->view().Plans()[0].plan.algorithm; }
  // Takes the question for the team's calls, which must go to n1, and answers it.
  void AnswerCalls(uint64_t barriers, uint64_t allreduces) {
    const auto query = sink.Take<schedule::StatusQuery>(1);
    EXPECT_EQ(query.calls_of, id());
    schedule::StatusReply reply{.query = query.query, .status = {.node = "n1"}};
    reply.status.plan_calls = {{schedule::PlanIdIn(team.plans[0]), barriers},
                               {schedule::PlanIdIn(team.plans[1]), allreduces}};
    coordinator->OnMessage(1, reply);
  }
  void AwaitQuery() {
    const absl::Time end = clock.Now() + absl::Hours(1);
    while (sink.sent[1].empty() && clock.Now() < end) Advance(coordinator->NextDeadline() - clock.Now());
  }
  // Returns how many questions n1 is asked meanwhile; all are answered with these calls.
  int QueriesWithin(absl::Duration duration, uint64_t barriers) {
    int queries = 0;
    for (const absl::Time end = clock.Now() + duration; coordinator->NextDeadline() <= end;) {
      Advance(coordinator->NextDeadline() - clock.Now());
      for (; !sink.sent[1].empty(); ++queries) AnswerCalls(barriers, 0);
    }
    return queries;
  }
  void Commit(const schedule::Prepare& prepare) {
    AcceptBoth(prepare);
    TakeBoth<schedule::Commit>();
    for (const SessionId session : {1, 2}) {
      coordinator->OnMessage(session, schedule::CommitReply{prepare.layout.id, prepare.epoch});
    }
  }
  // The team's barriers would save 100 us each, and the switch costs 10.6 ms.
  static constexpr uint64_t kRepaid = 106, kNotRepaid = 105;

  schedule::Prepare team;
};

TEST_F(BetterPlansTest, TheTeamIsSwitchedOnceItsCallsRepayTheSwitch) {
  EXPECT_EQ(SwitchCostUs(2), 10'600);
  Form();
  EXPECT_EQ(Algorithm(), "quick");
  Advance(absl::Minutes(1));
  EXPECT_TRUE(Silent()) << "nobody is asked before there are better plans";
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  EXPECT_TRUE(Silent());
  Advance(kFirstLook);
  AnswerCalls(kNotRepaid, 1'000'000);
  Advance(2 * kFirstLook - absl::Milliseconds(1));
  EXPECT_TRUE(Silent()) << "each time is twice the one before";
  Advance(absl::Milliseconds(1));
  AnswerCalls(kRepaid, 0);
  const auto prepare = TakeBoth<schedule::Prepare>();
  EXPECT_EQ(prepare.epoch, EpochId{2});
  Commit(prepare);
  EXPECT_EQ(Algorithm(), "flat");
  Advance(absl::Hours(3));
  EXPECT_TRUE(Silent());
}

TEST_F(BetterPlansTest, ATeamThatCallsLittleIsAskedEverMoreRarely) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  EXPECT_EQ(QueriesWithin(absl::Hours(1), 1), 11) << "after 1, 3, 7, ... 2,047 s";
  EXPECT_LE(QueriesWithin(absl::Hours(24), 1), 25);
  EXPECT_EQ(coordinator->view().FindTeam(id())->epoch, EpochId{1});
}

TEST_F(BetterPlansTest, NobodyIsAskedWhereNothingIsGained) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{0, -3});
  Advance(absl::Hours(3));
  EXPECT_TRUE(Silent());
  EXPECT_EQ(Algorithm(), "quick");
}

TEST_F(BetterPlansTest, NotWhileAMemberIsAwayOrDrains) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  coordinator->OnDisconnected(2);
  Advance(absl::Seconds(10));
  EXPECT_TRUE(Silent());
  Register(2, "n2", 1, {Running(team, 1)});
  ASSERT_TRUE(SetDraining("n2", true).ok());
  sink.sent.clear();
  Advance(absl::Minutes(1));
  EXPECT_TRUE(Silent());
  ASSERT_TRUE(SetDraining("n2", false).ok());
  sink.sent.clear();
  AwaitQuery();
  // A member that goes away while the question is open counts, too.
  coordinator->OnDisconnected(2);
  AnswerCalls(kRepaid, 0);
  EXPECT_TRUE(Silent());
  Register(2, "n2", 1, {Running(team, 1)});
  AwaitQuery();
  AnswerCalls(kRepaid, 0);
  EXPECT_EQ(TakeBoth<schedule::Prepare>().epoch, EpochId{2});
}

TEST_F(BetterPlansTest, ASwitchThatIsAbortedIsTriedAgainLater) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(kFirstLook);
  AnswerCalls(kRepaid, 0);
  TakeBoth<schedule::Prepare>();
  Advance(options.switch_timeout);  // no daemon answers
  TakeBoth<schedule::Abort>();
  Advance(2 * kFirstLook);
  AnswerCalls(kRepaid, 0);
  Commit(TakeBoth<schedule::Prepare>());
  EXPECT_EQ(Algorithm(), "flat");
}

TEST_F(BetterPlansTest, AMemberThatDoesNotAnswerIsAskedAgain) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(kFirstLook);
  sink.Take<schedule::StatusQuery>(1);
  Advance(absl::Seconds(2) + 2 * kFirstLook);
  AnswerCalls(kRepaid, 0);
  TakeBoth<schedule::Prepare>();
}

TEST_F(BetterPlansTest, OrdersForTeamsThatEndedAreWithdrawn) {
  Form();
  EXPECT_TRUE(plan_maker.better.contains(id()));
  for (const SessionId session : {1, 2}) coordinator->OnMessage(session, schedule::LeaveTeam{id()});
  EXPECT_TRUE(plan_maker.better.empty());
  sink.sent.clear();
  Form();
  ASSERT_TRUE(coordinator->BreakTeam(id(), "enough").ok());
  EXPECT_TRUE(plan_maker.better.empty());
  sink.sent.clear();
  Form();
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(kFirstLook);
  for (const SessionId session : {1, 2}) coordinator->OnMessage(session, schedule::LeaveTeam{id()});
  AnswerCalls(kRepaid, 0);
  EXPECT_EQ(sink.sent[1].size(), 1u) << "EndTeam alone";
}

TEST_F(BetterPlansTest, ATeamWithAnAskedForAlgorithmKeepsIt) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  coordinator->ReplanTeam(id(), {.algorithm = "knomial-4"}, [](const absl::Status&) {});
  Commit(TakeBoth<schedule::Prepare>());
  Advance(absl::Hours(3));
  EXPECT_TRUE(Silent());
  EXPECT_EQ(Algorithm(), "knomial-4");
}

TEST_F(BetterPlansTest, AnOrderForWhichThereIsNoRoomIsMadeAgain) {
  Form();
  plan_maker.FinishBetter(absl::ResourceExhaustedError("too many"));
  EXPECT_TRUE(plan_maker.better.empty());
  Advance(kFirstLook);
  ASSERT_TRUE(plan_maker.better.contains(id()));
  plan_maker.FinishBetter(absl::InvalidArgumentError("no plans"));
  Advance(absl::Hours(3));
  EXPECT_TRUE(plan_maker.better.empty());
  EXPECT_TRUE(Silent());
}

TEST_F(BetterPlansTest, SubTeamsKeepTheirPlans) {
  Form();
  plan_maker.FinishBetter(std::vector<double>{0, 0});
  FormTeam("sub", id().value());
  plan_maker.FinishBetter(std::vector<double>{100, 0});  // for later sub-teams of this shape
  Advance(absl::Hours(3));
  EXPECT_TRUE(Silent());
}

TEST_F(BetterPlansTest, DaemonsThatDoNotCountCallsAreNotAsked) {
  Form();
  coordinator->OnDisconnected(1);
  schedule::Register again{Announce("n1", 1), {Running(team, 1)}, 0};
  again.node.features = {schedule::Feature::kDerivedTeams};
  RegisterAs(1, again);
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(kFirstLook);
  EXPECT_EQ(sink.sent[1].size(), 0u);
  EXPECT_EQ(sink.Take<schedule::StatusQuery>(2).calls_of, id());
}

TEST_F(BetterPlansTest, DerivedTeamsAreSwitchedByThemselves) {
  plan_maker.quick = false;
  const auto parent = FormTeam();
  plan_maker.quick = true;
  schedule::JoinTeam join;
  join.request = 7;
  join.identity = parent.layout.identity;
  join.identity.family = Family::kRooted;
  join.parent = parent.layout.id;
  join.rank = Rank{0};
  join.size = 2;
  coordinator->OnMessage(1, join);
  team = TakeBoth<schedule::Prepare>();
  Commit(team);
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(kFirstLook);
  AnswerCalls(kRepaid, 0);
  EXPECT_EQ(TakeBoth<schedule::Prepare>().layout.id, id());
}

TEST_F(BetterPlansTest, APlannerThatStartsAgainLooksForThemOnceAllAreBack) {
  Form();
  plan_maker.better.clear();
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  Advance(absl::Minutes(30));
  ASSERT_EQ(plan_maker.better.size(), 1u);
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(absl::Hours(3));
  EXPECT_TRUE(Silent()) << "a member is away";
  Register(2, "n2", 1, {Running(team, 1)});
  AwaitQuery();
  AnswerCalls(kRepaid, 0);
  Commit(TakeBoth<schedule::Prepare>());
  EXPECT_EQ(Algorithm(), "flat");
}

TEST_F(BetterPlansTest, APlannerThatStartsAgainLeavesOtherPlansAlone) {
  plan_maker.quick = false;
  Form();
  Restart();
  RegisterTwo({Running(team, 1)});
  Advance(absl::Hours(3));
  EXPECT_TRUE(plan_maker.better.empty());
  EXPECT_TRUE(Silent());
}

TEST_F(BetterPlansTest, ExplanationsTellOfThem) {
  Form();
  const PlanId plan = schedule::PlanIdIn(team.plans[0]);
  EXPECT_THAT(Explained(plan)->text, Names("being made"));
  plan_maker.FinishBetter(std::vector<double>{100, 0});
  Advance(kFirstLook);
  AnswerCalls(7, 0);
  EXPECT_THAT(Explained(plan)->text, Names("100.0 us", "700.0 us", "10600.0 us"));
}

}  // namespace
}  // namespace copse::coordinator
