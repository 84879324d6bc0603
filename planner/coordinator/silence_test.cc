// SPDX-License-Identifier: Apache-2.0
//
// The planner has streams to both ends of a dead link, and weighs their reports.
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;
using testing::Names;
using ::testing::Pair;

class SilenceTest : public CoordinatorTest {
 protected:
  // The tests use three nodes of one team.
  void SetUp() override {
    for (SessionId session = 1; session <= 3; ++session) {
      ASSERT_TRUE(Register(session, absl::StrCat("n", session), 100 + session).accepted);
      Join(session, static_cast<uint32_t>(session - 1), 3, session);
    }
    for (SessionId session = 1; session <= 3; ++session) {
      const auto prepare = sink.Take<schedule::Prepare>(session);
      team = prepare.layout.id;
      coordinator->OnMessage(session, Accept(prepare, static_cast<uint32_t>(session - 1)));
    }
    for (SessionId session = 1; session <= 3; ++session) sink.Take<schedule::Commit>(session);
  }
  void Say(SessionId session, uint64_t about, uint32_t living, bool silent = true) {
    coordinator->OnMessage(session, schedule::NeighborSilent{.neighbor = Incarnation{100 + about},
                                                             .silent = silent,
                                                             .living = living,
                                                             .teams = {team},
                                                             .silent_ms = 10000,
                                                             .others_due_ms = 1000});
  }
  TeamId team{0};
};

TEST_F(SilenceTest, TheOneThatIsCutOffIsNamedThoughItComplainedFirst) {
  Say(2, 1, 1);
  Say(2, 3, 0);
  Advance(absl::Milliseconds(999));
  EXPECT_EQ(State(team), "ready");
  Say(1, 2, 1);
  Say(3, 2, 1);
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(State(team), "broken");
  for (SessionId session = 1; session <= 3; ++session) {
    EXPECT_THAT(Brief(sink.Take<schedule::BreakTeam>(session).why),
                Pair(Failure::kMemberLost, Names("rank 1", "node n2", "10s")));
  }
  EXPECT_THAT(store.Load()->teams.at(team).why.text, Names("rank 1", "node n2", "10s"));
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Silent());
}

TEST_F(SilenceTest, BothEndsAreNamedIfNeitherCanBeToldFromTheOther) {
  Say(1, 2, 1);
  Say(2, 1, 1);
  Advance(absl::Seconds(1));
  EXPECT_THAT(sink.Take<schedule::BreakTeam>(3).why.text, Names("rank 0", "rank 1", "node n1", "node n2", "10s"));
}

TEST_F(SilenceTest, ANeighborThatIsHeardAgainBreaksNothing) {
  Say(1, 2, 1);
  Advance(absl::Milliseconds(500));
  Say(1, 2, 1, false);
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(team), "ready");
  EXPECT_TRUE(Silent());
}

TEST_F(SilenceTest, NobodySpeaksOfTeamsThatItHasNoPartIn) {
  EXPECT_TRUE(Register(4, "n4", 104).accepted);
  Say(4, 2, 0);
  Say(1, 4, 0);
  Say(1, 1, 0);
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(team), "ready");
}

TEST_F(SilenceTest, AMemberThatLeftMeanwhileIsNotLost) {
  Say(1, 2, 0);
  coordinator->OnMessage(2, schedule::LeaveTeam{team});
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(team), "ready");
}

}  // namespace
}  // namespace copse::coordinator
