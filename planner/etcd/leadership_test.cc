// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/leadership.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/etcd/testing/candidate.h"
#include "planner/etcd/testing/etcd_cluster.h"

namespace copse::planner {
namespace {

using copse::testing::IsOk;
using testing::Candidate;
using testing::EtcdCluster;
using testing::kLease;
using testing::kTimeout;

class LeadershipTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = EtcdCluster::Start().value().release(); }
  static void TearDownTestSuite() { delete cluster_; }

  static EtcdCluster* cluster_;
  const std::string prefix_ = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};
EtcdCluster* LeadershipTest::cluster_ = nullptr;

TEST_F(LeadershipTest, OneLeadsAndTheOtherKnowsIt) {
  Candidate first(cluster_->ClientOptions(), prefix_, "a:1");
  EXPECT_EQ(first.Next(), "won");
  EXPECT_TRUE(first.leadership()->is_valid());
  Candidate second(cluster_->ClientOptions(), prefix_, "b:1");
  EXPECT_EQ(second.Next(), "leader a:1");
  EXPECT_FALSE(second.leadership()->is_valid());
  Candidate elsewhere(cluster_->ClientOptions(), prefix_ + "2", "c:1");
  EXPECT_EQ(elsewhere.Next(), "won") << "another prefix";

  EXPECT_EQ(second.Next(kLease + absl::Seconds(1)), "nothing") << "the lease is renewed";
  EXPECT_TRUE(first.leadership()->is_valid());
}

TEST_F(LeadershipTest, AResignationHandsOverAtOnce) {
  Candidate first(cluster_->ClientOptions(), prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(cluster_->ClientOptions(), prefix_, "b:1");
  ASSERT_EQ(second.Next(), "leader a:1");
  const absl::Time begin = BootClock().Now();
  first.leadership()->Resign();
  EXPECT_FALSE(first.leadership()->is_valid());
  EXPECT_EQ(second.Next(), "won");
  EXPECT_LT(BootClock().Now() - begin, absl::Milliseconds(500));
  EXPECT_GT(second.fence(), first.fence());
  EXPECT_EQ(first.Next(absl::Milliseconds(1)), "nothing") << "no event of one's own will";
  second.leadership()->Resign();
}

TEST_F(LeadershipTest, AVanishedLeaderIsFollowedWhenItsLeaseEnds) {
  Candidate first(cluster_->ClientOptions(), prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(cluster_->ClientOptions(), prefix_, "b:1");
  ASSERT_EQ(second.Next(), "leader a:1");
  const absl::Time begin = BootClock().Now();
  first.Vanish();
  EXPECT_EQ(second.Next(), "won");
  const absl::Duration taken = BootClock().Now() - begin;
  EXPECT_LT(taken, kLease + absl::Seconds(1));
  RecordProperty("failover_ms", static_cast<int>(absl::ToInt64Milliseconds(taken)));
}

TEST_F(LeadershipTest, ACompactionDoesNotStopAStandby) {
  Candidate first(cluster_->ClientOptions(), prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(cluster_->ClientOptions(), prefix_, "b:1");
  ASSERT_EQ(second.Next(), "leader a:1");
  Candidate other(cluster_->ClientOptions(), prefix_ + "2", "c:1");
  ASSERT_EQ(other.Next(), "won");
  ASSERT_THAT(cluster_->Compact(other.fence()), IsOk());
  first.leadership()->Resign();
  EXPECT_EQ(second.Next(), "won");
}

TEST_F(LeadershipTest, ALeaderWhoseKeyIsDeletedHasLost) {
  Candidate first(cluster_->ClientOptions(), prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  etcdserverpb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(LeaderKey(prefix_));
  ASSERT_THAT(Await<etcdserverpb::TxnResponse>(
                  [&](auto done) { first.client()->Txn(request, LeaderKey(prefix_), kTimeout, done); }),
              IsOk());
  EXPECT_EQ(first.Next(), "lost ABORTED");
  EXPECT_FALSE(first.leadership()->is_valid());
}

TEST(LeadershipUserTest, NeedsNoMoreThanTheKeysOfItsPrefix) {
  const auto cluster = EtcdCluster::Start({.allowed_keys = "/copse/"}).value();
  Candidate first(cluster->ClientOptions(), "/copse/c1", "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(cluster->ClientOptions(), "/copse/c1", "b:1");
  ASSERT_EQ(second.Next(), "leader a:1");
  first.leadership()->Resign();
  EXPECT_EQ(second.Next(), "won");
  EXPECT_EQ(second.Next(kLease), "nothing") << "the lease is renewed";
  Candidate elsewhere(cluster->ClientOptions(), "/other", "c:1");
  EXPECT_EQ(elsewhere.Next(absl::Milliseconds(500)), "nothing");
}

TEST(LeadershipMembersTest, OutlivesEachMember) {
  const auto cluster = EtcdCluster::Start({.members = 3}).value();
  Candidate leader(cluster->ClientOptions(), "/copse", "a:1", absl::Seconds(5));
  ASSERT_EQ(leader.Next(), "won");
  for (size_t member = 0; member < 3; ++member) {  // one of them leads etcd
    cluster->Kill(member);
    EXPECT_THAT(cluster->AwaitHealth(), IsOk());
    EXPECT_EQ(leader.Next(absl::Milliseconds(1500)), "nothing") << "it is renewed at another one";
    ASSERT_THAT(cluster->Restart(member), IsOk());
    EXPECT_THAT(cluster->AwaitHealth(), IsOk());
  }
  EXPECT_TRUE(leader.leadership()->is_valid());
}

TEST(LeadershipWithoutEtcdTest, ALeaderHasLostBeforeItsLeaseEnds) {
  const auto cluster = EtcdCluster::Start().value();
  Candidate first(cluster->ClientOptions(), "/copse", "a:1");
  ASSERT_EQ(first.Next(), "won");
  const absl::Time begin = BootClock().Now();
  cluster->Pause(0);
  EXPECT_EQ(first.Next(), "lost DEADLINE_EXCEEDED");
  EXPECT_LT(BootClock().Now() - begin, kLease);
  EXPECT_FALSE(first.leadership()->is_valid());

  Candidate second(cluster->ClientOptions(), "/copse", "b:1");
  cluster->Resume(0);
  std::string event = second.Next();
  if (event == "leader a:1") event = second.Next();  // the lease had not ended in etcd
  EXPECT_EQ(event, "won") << "it goes on until etcd answers";
}

TEST(LeadershipWithoutEtcdTest, AResignationAfterALossHandsOverAsSoonAsEtcdAnswers) {
  constexpr absl::Duration kLongLease = absl::Seconds(5);
  const auto cluster = EtcdCluster::Start().value();
  Candidate first(cluster->ClientOptions(), "/copse", "a:1", kLongLease);
  ASSERT_EQ(first.Next(), "won");
  Candidate second(cluster->ClientOptions(), "/copse", "b:1", kLongLease);
  ASSERT_EQ(second.Next(), "leader a:1");
  cluster->Kill(0);
  ASSERT_EQ(first.Next(), "lost DEADLINE_EXCEEDED");
  ASSERT_THAT(cluster->Restart(0), IsOk());
  const absl::Time begin = BootClock().Now();
  first.leadership()->Resign();
  EXPECT_EQ(second.Next(), "won");
  EXPECT_LT(BootClock().Now() - begin, kLongLease - absl::Seconds(1)) << "its new leader gives leases their whole time";
}

}  // namespace
}  // namespace copse::planner
