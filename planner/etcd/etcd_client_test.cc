// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/etcd_client.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/etcd/key_watch.h"
#include "planner/etcd/testing/etcd_cluster.h"
#include "testbed/processes/temp_folder.h"

namespace copse::planner {
namespace {

using absl::StatusCode;
using copse::testing::FailsWith;
using copse::testing::IsOk;
using testing::EtcdCluster;
using testing::kUser;

constexpr absl::Duration kTimeout = absl::Seconds(10);

absl::StatusOr<etcdserverpb::TxnResponse> Put(EtcdClient* client, const std::string& key, const std::string& value,
                                              absl::Duration timeout = kTimeout) {
  etcdserverpb::TxnRequest request;
  auto* const put = request.add_success()->mutable_request_put();
  put->set_key(key);
  put->set_value(value);
  return Await<etcdserverpb::TxnResponse>([&](auto done) { client->Txn(request, key, timeout, done); });
}

absl::StatusOr<etcdserverpb::RangeResponse> Get(EtcdClient* client, const std::string& key,
                                                absl::Duration timeout = kTimeout) {
  etcdserverpb::RangeRequest request;
  request.set_key(key);
  return Await<etcdserverpb::RangeResponse>([&](auto done) { client->Range(request, timeout, done); });
}

// The events of a watch, in a queue.
class Events {
 public:
  void Add(const absl::Status& event) {
    MutexLock lock(&mutex_);
    events_.push_back(event);
    changed_.NotifyAll();
  }
  absl::Status Next() {
    MutexLock lock(&mutex_);
    while (events_.empty()) {
      if (!changed_.WaitFor(&mutex_, kTimeout)) return absl::DeadlineExceededError("no event");
    }
    const absl::Status event = events_.front();
    events_.erase(events_.begin());
    return event;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<absl::Status> events_ ABSL_GUARDED_BY(mutex_);
};

TEST(EtcdClientTest, WantsEndpoints) {
  EXPECT_THAT(EtcdClient::Create({}), FailsWith(StatusCode::kInvalidArgument));
  EXPECT_THAT(EtcdClient::Create({.endpoints = {"nowhere"}}), FailsWith(StatusCode::kInvalidArgument));
}

class OneMemberTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = EtcdCluster::Start().value().release(); }
  static void TearDownTestSuite() { delete cluster_; }

  static EtcdCluster* cluster_;
  const std::unique_ptr<EtcdClient> client_ = cluster_->NewClient();
};
EtcdCluster* OneMemberTest::cluster_ = nullptr;

TEST_F(OneMemberTest, ReadsWhatWasWritten) {
  ASSERT_THAT(Put(client_.get(), "k", std::string("a\0b", 3)), IsOk());
  const auto response = Get(client_.get(), "k").value();
  ASSERT_EQ(response.kvs_size(), 1);
  EXPECT_EQ(response.kvs(0).value(), std::string("a\0b", 3));
  EXPECT_EQ(response.kvs(0).create_revision(), response.header().revision());
}

TEST_F(OneMemberTest, RefusesRequestsBeyondTheLimit) {
  EXPECT_THAT(Put(client_.get(), "k", std::string(kEtcdRequestBytesMax, 'x')),
              FailsWith(StatusCode::kInvalidArgument, "key=k", "limit=1572864"));
}

TEST_F(OneMemberTest, KeepsALeaseAliveUntilItIsRevoked) {
  const auto lease =
      Await<etcdserverpb::LeaseGrantResponse>([&](auto done) { client_->GrantLease(7, kTimeout, done); }).value();
  const auto keep_alive = [&] {
    return Await<etcdserverpb::LeaseKeepAliveResponse>(
               [&](auto done) { client_->KeepLeaseAlive(lease.id(), kTimeout, done); })
        .value()
        .ttl();
  };
  EXPECT_EQ(keep_alive(), 7);
  const auto revoke = [&] {
    return Await<etcdserverpb::LeaseRevokeResponse>(
        [&](auto done) { client_->RevokeLease(lease.id(), kTimeout, done); });
  };
  EXPECT_THAT(revoke(), IsOk());
  EXPECT_EQ(keep_alive(), 0);
  EXPECT_THAT(revoke(), FailsWith(StatusCode::kNotFound, "endpoint=" + cluster_->endpoints()[0]));
}

TEST_F(OneMemberTest, AnUnansweredCallNamesItsEndpoints) {
  auto options = cluster_->ClientOptions();
  options.endpoints = {"127.0.0.1:1", "127.0.0.1:2"};
  const auto nowhere = EtcdClient::Create(options).value();
  EXPECT_THAT(Get(nowhere.get(), "k", absl::Milliseconds(200)),
              FailsWith(StatusCode::kUnavailable, "endpoints=127.0.0.1:1,127.0.0.1:2", "key=k", "timeout_ms=200"));
}

TEST_F(OneMemberTest, AnotherEndpointIsTried) {
  auto options = cluster_->ClientOptions();
  options.endpoints.insert(options.endpoints.begin(), "127.0.0.1:1");
  EXPECT_THAT(Get(EtcdClient::Create(options).value().get(), "k"), IsOk());
}

TEST_F(OneMemberTest, ItsEndCancelsCalls) {
  auto options = cluster_->ClientOptions();
  options.endpoints = {"127.0.0.1:1"};
  auto client = EtcdClient::Create(options).value();
  const auto result = Await<etcdserverpb::RangeResponse>([&](auto done) {
    client->Range({}, absl::Hours(1), done);
    client.reset();
  });
  EXPECT_THAT(result, FailsWith(StatusCode::kCancelled));
}

TEST_F(OneMemberTest, AWatchNotifiesOfChanges) {
  Events events;
  const int64_t revision = Put(client_.get(), "w", "1").value().header().revision();
  KeyWatch watch(client_.get(), "w", revision, [&](const absl::Status& event) { events.Add(event); });
  EXPECT_THAT(events.Next(), IsOk());
  ASSERT_THAT(Put(client_.get(), "w", "2"), IsOk());
  EXPECT_THAT(events.Next(), IsOk());
}

TEST_F(OneMemberTest, AWatchOfCompactedChangesEnds) {
  Events events;
  const int64_t old = Put(client_.get(), "w", "1").value().header().revision();
  const int64_t revision = Put(client_.get(), "w", "2").value().header().revision();
  ASSERT_THAT(cluster_->Compact(revision), IsOk());
  KeyWatch watch(client_.get(), "w", old, [&](const absl::Status& event) { events.Add(event); });
  EXPECT_THAT(events.Next(), FailsWith(StatusCode::kOutOfRange, "key=w"));
}

TEST_F(OneMemberTest, ACompactionDoesNotEndAWatch) {
  Events events;
  const int64_t revision = Put(client_.get(), "w", "1").value().header().revision();
  KeyWatch watch(client_.get(), "w", revision, [&](const absl::Status& event) { events.Add(event); });
  EXPECT_THAT(events.Next(), IsOk());
  ASSERT_THAT(cluster_->Compact(Put(client_.get(), "other", "1").value().header().revision()), IsOk());
  ASSERT_THAT(Put(client_.get(), "w", "2"), IsOk());
  EXPECT_THAT(events.Next(), IsOk());
}

TEST(EtcdClientMembersTest, GoesOnWithoutAMember) {
  const auto cluster = EtcdCluster::Start({.members = 3}).value();
  const auto client = cluster->NewClient();
  Events events;
  KeyWatch watch(client.get(), "k", 1, [&](const absl::Status& event) { events.Add(event); });
  ASSERT_THAT(Put(client.get(), "k", "0"), IsOk());
  EXPECT_THAT(events.Next(), IsOk());
  cluster->Kill(0);
  EXPECT_THAT(events.Next(), FailsWith(StatusCode::kUnavailable, "endpoint=" + cluster->endpoints()[0]));
  EXPECT_THAT(Put(client.get(), "k", "1"), IsOk());
  ASSERT_THAT(cluster->Restart(0), IsOk());
  cluster->Pause(1);
  EXPECT_THAT(Put(client.get(), "k", "2"), IsOk());
  cluster->Resume(1);
}

TEST(EtcdClientTlsTest, WantsTheRightAuthorityAndACertificate) {
  const auto cluster = EtcdCluster::Start({.tls = true}).value();
  const testing::EtcdCertificates& certificates = cluster->certificates();
  EXPECT_THAT(Get(cluster->NewClient().get(), "k"), IsOk());
  EtcdClientOptions options = cluster->ClientOptions();
  for (const grpc::SslCredentialsOptions& wrong :
       {grpc::SslCredentialsOptions{certificates.other_ca, certificates.client_key, certificates.client},
        grpc::SslCredentialsOptions{certificates.ca, "", ""}}) {
    options.credentials = grpc::SslCredentials(wrong);
    EXPECT_THAT(Get(EtcdClient::Create(options).value().get(), "k", absl::Seconds(1)),
                FailsWith(StatusCode::kUnavailable, "endpoints=" + cluster->endpoints()[0]));
  }
  options.credentials = grpc::InsecureChannelCredentials();
  EXPECT_THAT(Get(EtcdClient::Create(options).value().get(), "k", absl::Seconds(1)),
              FailsWith(StatusCode::kUnavailable));
}

TEST(EtcdClientTlsTest, NewFilesAreUsedWithoutARestart) {
  const auto cluster = EtcdCluster::Start({.tls = true}).value();
  const testing::EtcdCertificates& certificates = cluster->certificates();
  const procs::TempFolder folder;
  const config::TlsFiles files = {.certificate = folder / "cert", .key = folder / "key", .authorities = folder / "ca"};
  std::ofstream(files.certificate) << certificates.client;
  std::ofstream(files.key) << certificates.client_key;
  std::ofstream(files.authorities) << certificates.other_ca;
  EtcdClientOptions options = cluster->ClientOptions();
  options.credentials = EtcdCredentials(files, absl::Seconds(1));
  const auto client = EtcdClient::Create(options).value();
  EXPECT_THAT(Get(client.get(), "k", absl::Seconds(1)), FailsWith(StatusCode::kUnavailable));
  std::ofstream(files.authorities) << certificates.ca;
  absl::Status answer;
  for (int i = 0; i < 60 && !(answer = Get(client.get(), "k", absl::Seconds(1)).status()).ok(); ++i) {
  }
  EXPECT_THAT(answer, IsOk());
}

TEST(EtcdClientUserTest, MayUseItsOwnKeysAlone) {
  const auto cluster = EtcdCluster::Start({.allowed_keys = "/copse/"}).value();
  const auto client = cluster->NewClient();
  EXPECT_THAT(Put(client.get(), "/copse/a", "1"), IsOk());
  EXPECT_THAT(Put(client.get(), "/other", "1"),
              FailsWith(StatusCode::kPermissionDenied, "key=/other", std::string("user=") + kUser));
  // Its token is unknown after a restart, and the client gets another.
  cluster->Kill(0);
  ASSERT_THAT(cluster->Restart(0), IsOk());
  EXPECT_THAT(Put(client.get(), "/copse/a", "2"), IsOk());

  EtcdClientOptions options = cluster->ClientOptions();
  options.password = "wrong";
  const auto stranger = EtcdClient::Create(options).value();
  EXPECT_THAT(Put(stranger.get(), "/copse/a", "1"), FailsWith(StatusCode::kInvalidArgument, "user=copse"));
}

TEST(EtcdClientQuotaTest, SaysThatEtcdIsFull) {
  const auto cluster = EtcdCluster::Start({.quota_bytes = 1 << 20}).value();
  const auto client = cluster->NewClient();
  absl::Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {  // it measures its size now and then
    status = Put(client.get(), absl::StrCat("k", i), std::string(500'000, 'x')).status();
  }
  EXPECT_THAT(status, FailsWith(StatusCode::kResourceExhausted, "endpoint=" + cluster->endpoints()[0]));
}

}  // namespace
}  // namespace copse::planner
