// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/fenced_writer.h"

#include <memory>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/etcd/operations.h"
#include "planner/etcd/testing/candidate.h"
#include "planner/etcd/testing/etcd_cluster.h"

namespace copse::planner {
namespace {

using absl::StatusCode;
using copse::testing::FailsWith;
using copse::testing::IsOk;
using testing::Candidate;
using testing::EtcdCluster;
using testing::kTimeout;

class FencedWriterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = EtcdCluster::Start().value().release(); }
  static void TearDownTestSuite() { delete cluster_; }

  FencedWriterTest() { EXPECT_EQ(leader_.Next(), "won"); }

  std::shared_ptr<FencedWriter> NewWriter() {
    return std::make_shared<FencedWriter>(client_.get(), prefix_, leader_.fence());
  }
  static absl::Status Put(FencedWriter* writer, const std::string& key, const std::string& value) {
    return Await<bool>([&](const auto& done) {
             writer->Write({PutOp(key, value)}, [done](const absl::Status& status) {
               if (status.ok()) return done(true);
               done(status);
             });
           })
        .status();
  }
  std::string Get(const std::string& key) {
    etcdserverpb::RangeRequest request;
    request.set_key(key);
    const auto response =
        Await<etcdserverpb::RangeResponse>([&](auto done) { client_->Range(request, kTimeout, done); }).value();
    return response.kvs_size() > 0 ? response.kvs(0).value() : "none";
  }

  static EtcdCluster* cluster_;
  const std::string prefix_ = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string key_ = prefix_ + "/k";
  const std::unique_ptr<EtcdClient> client_ = cluster_->NewClient();
  Candidate leader_{cluster_->ClientOptions(), prefix_, "a:1"};
};
EtcdCluster* FencedWriterTest::cluster_ = nullptr;

TEST_F(FencedWriterTest, WritesWhileItsPlannerLeads) {
  const auto writer = NewWriter();
  ASSERT_THAT(Put(writer.get(), key_, "1"), IsOk());
  EXPECT_EQ(Get(key_), "1");
  leader_.leadership()->Resign();
  EXPECT_THAT(Put(writer.get(), key_, "2"), FailsWith(StatusCode::kAborted, "key=" + LeaderKey(prefix_)));
  Candidate next(cluster_->ClientOptions(), prefix_, "b:1");
  ASSERT_EQ(next.Next(), "won");
  EXPECT_THAT(Put(writer.get(), key_, "2"), FailsWith(StatusCode::kAborted, "leader=b:1"));
  EXPECT_EQ(Get(key_), "1");
}

TEST_F(FencedWriterTest, ALaterWriterOfTheSameLeaderGoesOn) {
  const auto first = NewWriter();
  ASSERT_THAT(Put(first.get(), key_, "1"), IsOk());
  ASSERT_THAT(Put(first.get(), key_, "2"), IsOk());
  const auto second = NewWriter();
  ASSERT_THAT(Put(second.get(), key_, "3"), IsOk());
  EXPECT_EQ(Get(key_), "3");
}

TEST_F(FencedWriterTest, WritesAreMadeInTheirOrder) {
  const auto writer = NewWriter();
  std::vector<std::string> order;
  for (int i = 0; i < 20; ++i) {
    writer->Write({PutOp(key_, std::to_string(i))}, [&, i](const absl::Status& status) {
      EXPECT_THAT(status, IsOk());
      order.push_back(std::to_string(i));
    });
  }
  ASSERT_THAT(Put(writer.get(), key_, "last"), IsOk());
  EXPECT_EQ(Get(key_), "last");
  ASSERT_EQ(order.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], std::to_string(i));
}

TEST_F(FencedWriterTest, ATransactionThatWasDelayedChangesNothing) {
  const auto writer = NewWriter();
  ASSERT_THAT(Put(writer.get(), key_, "1"), IsOk());
  const std::string number = Get(prefix_ + "/commit");
  ASSERT_THAT(Put(writer.get(), key_, "2"), IsOk());
  etcdserverpb::TxnRequest delayed;
  *delayed.add_compare() = IsCreatedAt(LeaderKey(prefix_), leader_.fence());
  *delayed.add_compare() = IsLess(prefix_ + "/commit", number);
  *delayed.add_success() = PutOp(key_, "1");
  const auto response =
      Await<etcdserverpb::TxnResponse>([&](auto done) { client_->Txn(delayed, key_, kTimeout, done); });
  EXPECT_FALSE(response.value().succeeded());
  EXPECT_EQ(Get(key_), "2");
}

TEST_F(FencedWriterTest, AValueBeyondEtcdsLimitIsRefused) {
  const auto writer = NewWriter();
  EXPECT_THAT(Put(writer.get(), key_, std::string(kEtcdRequestBytesMax, 'x')),
              FailsWith(StatusCode::kInvalidArgument, "limit=1572864"));
  EXPECT_THAT(Put(writer.get(), key_, "1"), IsOk()) << "the next one is made";
}

}  // namespace
}  // namespace copse::planner
