// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/leadership.h"

#include <deque>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/etcd/testing/etcd_cluster.h"

namespace copse::planner {
namespace {

using copse::testing::IsOk;
using testing::EtcdCluster;

constexpr absl::Duration kLease = absl::Seconds(2);
constexpr absl::Duration kTimeout = absl::Seconds(20);

// A Candidate campaigns, and keeps its events as texts.
class Candidate : public LeadershipEvents {
 public:
  Candidate(const EtcdCluster& cluster, const std::string& prefix, const std::string& address)
      : client_(cluster.NewClient()),
        leadership_(std::make_unique<Leadership>(
            client_.get(), LeadershipOptions{.prefix = prefix, .address = address, .lease = kLease}, this)) {}

  void OnLeader(const std::string& address) override { Add("leader " + address); }
  void OnWon(int64_t fence) override {
    {
      MutexLock lock(&mutex_);
      fence_ = fence;
    }
    Add("won");
  }
  void OnLost(const absl::Status& why) override { Add(absl::StrCat("lost ", absl::StatusCodeToString(why.code()))); }

  std::string Next(absl::Duration timeout = kTimeout) {
    MutexLock lock(&mutex_);
    while (events_.empty()) {
      if (!changed_.WaitFor(&mutex_, timeout)) return "nothing";
    }
    std::string event = events_.front();
    events_.pop_front();
    return event;
  }

  int64_t fence() {
    MutexLock lock(&mutex_);
    return fence_;
  }
  EtcdClient* client() { return client_.get(); }
  Leadership* leadership() { return leadership_.get(); }
  void Vanish() { leadership_.reset(); }

 private:
  void Add(const std::string& event) {
    MutexLock lock(&mutex_);
    events_.push_back(event);
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> events_ ABSL_GUARDED_BY(mutex_);
  int64_t fence_ ABSL_GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<EtcdClient> client_;
  std::unique_ptr<Leadership> leadership_;
};

class LeadershipTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = EtcdCluster::Start().value().release(); }
  static void TearDownTestSuite() { delete cluster_; }

  static EtcdCluster* cluster_;
  const std::string prefix_ = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};
EtcdCluster* LeadershipTest::cluster_ = nullptr;

TEST_F(LeadershipTest, OneLeadsAndTheOtherKnowsIt) {
  Candidate first(*cluster_, prefix_, "a:1");
  EXPECT_EQ(first.Next(), "won");
  EXPECT_TRUE(first.leadership()->is_valid());
  Candidate second(*cluster_, prefix_, "b:1");
  EXPECT_EQ(second.Next(), "leader a:1");
  EXPECT_FALSE(second.leadership()->is_valid());
  Candidate elsewhere(*cluster_, prefix_ + "2", "c:1");
  EXPECT_EQ(elsewhere.Next(), "won") << "another prefix";

  EXPECT_EQ(second.Next(2 * kLease), "nothing") << "the lease is renewed";
  EXPECT_TRUE(first.leadership()->is_valid());
}

TEST_F(LeadershipTest, AResignationHandsOverAtOnce) {
  Candidate first(*cluster_, prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(*cluster_, prefix_, "b:1");
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
  Candidate first(*cluster_, prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(*cluster_, prefix_, "b:1");
  ASSERT_EQ(second.Next(), "leader a:1");
  const absl::Time begin = BootClock().Now();
  first.Vanish();
  EXPECT_EQ(second.Next(), "won");
  const absl::Duration taken = BootClock().Now() - begin;
  EXPECT_LT(taken, kLease + absl::Seconds(1));
  RecordProperty("failover_ms", static_cast<int>(absl::ToInt64Milliseconds(taken)));
}

TEST_F(LeadershipTest, ACompactionDoesNotStopAStandby) {
  Candidate first(*cluster_, prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  Candidate second(*cluster_, prefix_, "b:1");
  ASSERT_EQ(second.Next(), "leader a:1");
  Candidate other(*cluster_, prefix_ + "2", "c:1");
  ASSERT_EQ(other.Next(), "won");
  ASSERT_THAT(cluster_->Compact(other.fence()), IsOk());
  first.leadership()->Resign();
  EXPECT_EQ(second.Next(), "won");
}

TEST_F(LeadershipTest, ALeaderWhoseKeyIsDeletedHasLost) {
  Candidate first(*cluster_, prefix_, "a:1");
  ASSERT_EQ(first.Next(), "won");
  etcdserverpb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(LeaderKey(prefix_));
  ASSERT_THAT(Await<etcdserverpb::TxnResponse>(
                  [&](auto done) { first.client()->Txn(request, LeaderKey(prefix_), kTimeout, done); }),
              IsOk());
  EXPECT_EQ(first.Next(), "lost ABORTED");
  EXPECT_FALSE(first.leadership()->is_valid());
}

TEST(LeadershipWithoutEtcdTest, ALeaderHasLostBeforeItsLeaseEnds) {
  const auto cluster = EtcdCluster::Start().value();
  Candidate first(*cluster, "/copse", "a:1");
  ASSERT_EQ(first.Next(), "won");
  const absl::Time begin = BootClock().Now();
  cluster->Pause(0);
  EXPECT_EQ(first.Next(), "lost DEADLINE_EXCEEDED");
  EXPECT_LT(BootClock().Now() - begin, kLease);
  EXPECT_FALSE(first.leadership()->is_valid());

  Candidate second(*cluster, "/copse", "b:1");
  cluster->Resume(0);
  std::string event = second.Next();
  if (event == "leader a:1") event = second.Next();  // the lease had not ended in etcd
  EXPECT_EQ(event, "won") << "it goes on until etcd answers";
}

}  // namespace
}  // namespace copse::planner
