// SPDX-License-Identifier: Apache-2.0
//
// The planner's cluster, and daemons whose teams are of another one.
#include <string>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using absl::StatusCode;
using schedule::Failure;
using testing::FailsWith;
using testing::IsOk;
using testing::Names;
using ::testing::Pair;

class ClusterTest : public TwoNodesTest {
 protected:
  void Begin(const std::string& uuid) {
    options.fresh_cluster = uuid;
    Restart();
  }
  void LoseStoreAndBegin(const std::string& uuid) {
    store = FailingStore();
    Begin(uuid);
  }
  schedule::Registered RegisterIn(SessionId session, const std::string& name, const std::string& cluster,
                                  std::vector<schedule::RunningTeam> teams = {}, uint64_t term = 0) {
    schedule::Register message{Announce(name, 1), std::move(teams), term, cluster};
    message.node.features.insert(schedule::Feature::kCluster);
    return RegisterAs(session, message);
  }
  // Forms a team of n1 and n2 in cluster A.
  schedule::Prepare TeamOfA() {
    Begin("A");
    EXPECT_EQ(RegisterIn(1, "n1", "").cluster, "A");
    EXPECT_EQ(RegisterIn(2, "n2", "").cluster, "A");
    return FormTeam("t");
  }
  // Begins with the store of a new cluster B, in the same term as when TeamOfA was formed.
  void BeginInSameTerm() {
    LoseStoreAndBegin("B");
    Restart();
  }
  // Prepares a team of n3 alone, which registers without a cluster.
  schedule::Prepare StartTeamOfN3() {
    RegisterIn(3, "n3", "");
    Join(3, 0, 1, 1);
    return sink.Take<schedule::Prepare>(3);
  }
  schedule::Prepare TeamOfN3() {
    const auto team = StartTeamOfN3();
    coordinator->OnMessage(3, schedule::PrepareReply{team.layout.id, team.epoch, true});
    sink.Take<schedule::Commit>(3);
    return team;
  }
};

TEST_F(ClusterTest, TheStoreKeepsItsUuid) {
  Begin("A");
  EXPECT_EQ(coordinator->cluster().uuid(), "A");
  EXPECT_TRUE(store.Load()->cluster_is_new);
  TeamOfA();
  EXPECT_FALSE(store.Load()->cluster_is_new);
  Begin("B");
  EXPECT_EQ(coordinator->cluster().uuid(), "A");
  EXPECT_EQ(store.Load()->cluster, "A");
}

TEST_F(ClusterTest, APlannerThatLostItsStoreIsOfTheSameClusterAgain) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  EXPECT_EQ(RegisterIn(3, "n3", "A").cluster, "B") << "it holds no teams";
  EXPECT_EQ(RegisterIn(1, "n1", "A", {Running(team, 1)}, 1).cluster, "A");
  EXPECT_EQ(sink.Take<schedule::Cluster>(3).uuid, "A");
  EXPECT_EQ(store.Load()->cluster, "A");
  EXPECT_EQ(RegisterIn(2, "n2", "A", {Running(team, 1)}, 1).cluster, "A");
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_GT(coordinator->term(), kLostTerms);
  LoseStoreAndBegin("C");
  EXPECT_EQ(RegisterIn(1, "n1", "A", {Running(team, 1)}, 9000).cluster, "A");
  EXPECT_GT(coordinator->term(), 9000 + kLostTerms - 1);
}

TEST_F(ClusterTest, TermsOfTheClusterThatItMayBeAreHeardAtOnce) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  RegisterIn(3, "n3", "A", {}, 9);
  Join(3, 0, 1, 1);
  EXPECT_TRUE(Silent()) << "others may know later terms";
  EXPECT_EQ(RegisterIn(1, "n1", "A", {Running(team, 1)}, 9).cluster, "A");
  EXPECT_EQ(sink.Take<schedule::Cluster>(3).uuid, "A");
  Advance(kSettle);
  EXPECT_GT(TermOf(sink.Take<schedule::Prepare>(3).layout.id), kLostTerms);
}

TEST_F(ClusterTest, TeamsFormedBeforeTheClusterWasKnownStay) {
  const auto old_team = TeamOfA();
  LoseStoreAndBegin("B");
  const auto team = TeamOfN3();
  coordinator->OnDisconnected(3);
  EXPECT_EQ(RegisterIn(1, "n1", "A", {Running(old_team, 1)}, 1).cluster, "A") << "soon after the start";
  EXPECT_TRUE(RegisterIn(4, "n3", "B", {Running(team, 1)}, 1).accepted) << "it has not heard of A";
}

// The new planner's terms have reached those of the lost store: that says nothing about what the lost store had.
TEST_F(ClusterTest, TermsOfItsOwnDoNotCountForTheClusterThatItAdopts) {
  const auto team = TeamOfA();
  const uint64_t term = coordinator->term();
  BeginInSameTerm();
  Restart();
  ASSERT_GT(coordinator->term(), term);
  RegisterIn(1, "n1", "A", {Running(team, 0, 1)}, term);
  EXPECT_GT(coordinator->term(), kLostTerms);
  EXPECT_TRUE(Silent()) << "n2 may have committed the team";
  RegisterIn(2, "n2", "A", {Running(team, 1)}, term);
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(ClusterTest, APlannerWhoseStoreIsLostAgainHasOtherTerms) {
  const auto team = TeamOfA();
  options.lost_terms = kLostTerms + 1;
  LoseStoreAndBegin("B");
  RegisterIn(1, "n1", "A", {Running(team, 1)}, 2);
  const uint64_t term = coordinator->term();
  options.lost_terms = kLostTerms + 2;
  LoseStoreAndBegin("C");
  RegisterIn(2, "n2", "A", {Running(team, 1)}, 2);  // it has not heard of B's terms
  EXPECT_NE(coordinator->term(), term);
}

TEST_F(ClusterTest, ItsAbortedTeamsAreNotThoseOfTheClusterThatItAdopts) {
  const auto team = TeamOfA();
  BeginInSameTerm();
  const auto aborted = StartTeamOfN3();
  ASSERT_EQ(aborted.layout.id, team.layout.id);
  coordinator->OnMessage(3, schedule::PrepareReply{aborted.layout.id, aborted.epoch, false});
  EXPECT_EQ(sink.Take<schedule::Abort>(3).team, aborted.layout.id);
  EXPECT_TRUE(RegisterIn(1, "n1", "A", {Running(team, 1)}, 2).forgotten.empty());
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(ClusterTest, BrokenTeamsThatCameBeforeTheClusterWasKnownAreReportedAgain) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  auto broken = Running(team, 1);
  broken.broken = true;
  EXPECT_FALSE(RegisterIn(2, "n2", "A", {broken}, 2).forgotten.empty());
  EXPECT_TRUE(RegisterIn(1, "n1", "A", {Running(team, 1)}, 2).accepted);
  EXPECT_EQ(sink.Take<schedule::Cluster>(2).uuid, "A");
  EXPECT_TRUE(sink.closed.contains(2));
  RegisterIn(4, "n2", "A", {broken}, 2);
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).team, team.layout.id);
}

// A planner whose store was lost has formed a team with the id of a team of n1 and n2 before n1 came back.
class SharedIdTest : public ClusterTest {
 protected:
  SharedIdTest() {
    BeginInSameTerm();
    other = TeamOfN3();
    EXPECT_EQ(other.layout.id, team.layout.id);
    EXPECT_TRUE(RegisterIn(1, "n1", "A", {Running(team, 1, 2)}, 2).forgotten.empty());
    sink.Take<schedule::Cluster>(3);
  }

  const schedule::Prepare team = TeamOfA();
  schedule::Prepare other;
};

TEST_F(SharedIdTest, TheReturnedDaemonsTeamIsLeftAlone) {
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->size, 1u);
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  ASSERT_TRUE(coordinator->BreakTeam(team.layout.id, "").ok());
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(3).team, team.layout.id);
  EXPECT_TRUE(Silent());
}

TEST_F(SharedIdTest, TheReturnedDaemonsTeamGoesOnWhenTheOtherEnds) {
  coordinator->OnMessage(3, schedule::LeaveTeam{team.layout.id});
  sink.Take<schedule::EndTeam>(3);
  for (int minute = 0; minute < 3; ++minute) {
    coordinator->OnMessage(1, schedule::TeamsHeld{{team.layout.id}});
    Advance(absl::Minutes(1));
  }
  EXPECT_TRUE(Silent());
  coordinator->OnDisconnected(1);
  EXPECT_TRUE(RegisterIn(4, "n1", "A", {Running(team, 1)}, 2).forgotten.empty());
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(SharedIdTest, NeitherDaemonGetsAnIdThatItHas) {
  Join(1, 0, 1, 7, "u");
  Advance(kSettle);
  EXPECT_GT(TermOf(sink.Take<schedule::Prepare>(1).layout.id), kLostTerms);
}

TEST_F(ClusterTest, TeamsOfAnotherClusterAreLeftAlone) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  TeamOfN3();
  Advance(kSettle);
  const auto refused = RegisterIn(1, "n1", "A", {Running(team, 1)}, 9);
  EXPECT_FALSE(refused.accepted);
  EXPECT_THAT(Brief(refused.why), Pair(Failure::kPermission, Names("cluster B", "node=n1")));
  EXPECT_THAT(refused.why.text, Names("A"));
  EXPECT_TRUE(sink.closed.contains(1));
  EXPECT_FALSE(coordinator->view().FindNode("n1").ok());
  EXPECT_LT(coordinator->term(), 9u);
  EXPECT_EQ(RegisterIn(2, "n2", "A", {}, 9).cluster, "B") << "without teams it follows";
  EXPECT_LT(coordinator->term(), 9u) << "terms of another cluster";
}

TEST_F(ClusterTest, BrokenTeamsOfAnotherClusterAreOver) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  Advance(kSettle);
  auto broken = Running(team, 1);
  broken.broken = true;
  const auto registered = RegisterIn(1, "n1", "A", {broken}, 1);
  EXPECT_TRUE(registered.accepted);
  EXPECT_EQ(registered.forgotten, std::vector<TeamId>{team.layout.id});
  EXPECT_FALSE(coordinator->view().FindTeam(team.layout.id).ok());
  EXPECT_GT(coordinator->term(), TermOf(team.layout.id)) << "the daemon still has the team";
}

TEST_F(ClusterTest, AnAdministratorAdoptsTheDaemonsCluster) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  TeamOfN3();
  Advance(kSettle);
  EXPECT_THAT(coordinator->adoption().FindForeign(""), FailsWith(StatusCode::kNotFound, "refused=none"));
  RegisterIn(1, "n1", "A", {Running(team, 1)}, 1);
  EXPECT_THAT(coordinator->adoption().FindForeign("C"), FailsWith(StatusCode::kNotFound, "cluster=C", "refused=A"));
  RegisterIn(2, "n2", "D", {Running(team, 1)}, 1);
  EXPECT_THAT(coordinator->adoption().FindForeign(""), FailsWith(StatusCode::kFailedPrecondition, "clusters=A,D"));
  EXPECT_TRUE(RegisterIn(2, "n2", "B").accepted) << "it restarted, and is not refused any more";
  const auto adopted = coordinator->adoption().FindForeign("");
  ASSERT_THAT(adopted, IsOk());
  EXPECT_EQ(adopted->cluster, "A");
  EXPECT_EQ(adopted->nodes, std::set<std::string>{"n1"});
  coordinator->adoption().Adopt(*adopted);
  EXPECT_EQ(sink.Take<schedule::Cluster>(3).uuid, "A");
  EXPECT_TRUE(RegisterIn(1, "n1", "A", {Running(team, 1)}, 1).accepted);
  EXPECT_GT(coordinator->term(), kLostTerms);
  EXPECT_EQ(store.Load()->cluster, "A");
}

TEST_F(ClusterTest, TeamsWithTheIdsOfTheFormerClusterAreAdopted) {
  const auto team = TeamOfA();
  LoseStoreAndBegin("B");
  Restart();  // the same term
  RegisterIn(3, "n3", "");
  Join(3, 0, 1, 1);
  EXPECT_EQ(sink.Take<schedule::Prepare>(3).layout.id, team.layout.id);
  coordinator->OnMessage(3, schedule::PrepareReply{team.layout.id, team.epoch, true});
  sink.Take<schedule::Commit>(3);
  Restart();
  RegisterIn(1, "n1", "A", {Running(team, 1)}, 1);
  coordinator->adoption().Adopt(coordinator->adoption().FindForeign("A").value());
  EXPECT_TRUE(RegisterIn(1, "n1", "A", {Running(team, 1)}, 1).accepted);
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->size, 2u);
}

}  // namespace
}  // namespace copse::coordinator
