// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/admin_server.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/mutex.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/poller.h"
#include "proto/copse/v1/admin.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;

class AdminServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(poller_->Watch(mailbox_->event_fd(), EPOLLIN | EPOLLET, nullptr).ok());
    auto server = AdminServer::Start({.listen = "127.0.0.1:0"}, mailbox_.get(), [this](bool latencies) {
      ++statuses_;
      NodeStatus status;
      status.daemon.node = "n1";
      status.daemon.incarnation = Incarnation(7);
      status.daemon.state = "ready";
      status.daemon.counters["events"] = 3;
      schedule::CallStatus call;
      call.team = TeamId(5);
      call.arguments.collective = Collective::kBarrier;
      call.missing = {Rank(2)};
      status.daemon.calls.push_back(call);
      if (latencies) status.daemon.latencies.push_back({.sum_ns = 8, .min_ns = 4, .max_ns = 4, .buckets = {{4, 2}}});
      status.planner = "p:1";
      status.planner_refusal = "no";
      return status;
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::NodeAdminService::NewStub(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  std::unique_ptr<Poller> poller_ = *Poller::Create();
  std::unique_ptr<Mailbox> mailbox_ = *Mailbox::Create();
  int statuses_ = 0;  // number of requests to the loop
  std::unique_ptr<AdminServer> server_;
  std::unique_ptr<v1::NodeAdminService::Stub> stub_;
};

TEST_F(AdminServerTest, NamesThePortThatItGot) {
  EXPECT_TRUE(absl::StartsWith(server_->address(), "127.0.0.1:"));
  EXPECT_FALSE(absl::EndsWith(server_->address(), ":0"));
}

TEST_F(AdminServerTest, AnswersPingAndVersionWithoutTheLoop) {
  grpc::ClientContext context;
  v1::PingReply pong;
  ASSERT_TRUE(stub_->Ping(&context, {}, &pong).ok());
  EXPECT_TRUE(pong.ok());
  EXPECT_EQ(pong.version(), kVersion);
  grpc::ClientContext second;
  v1::VersionReply version;
  ASSERT_TRUE(stub_->Version(&second, {}, &version).ok());
  EXPECT_EQ(version.program(), "copsed");
  EXPECT_EQ(version.ring(), kRingLayoutVersion);
}

TEST_F(AdminServerTest, RefusesAProtoVersionWithBothNumbers) {
  grpc::ClientContext context;
  v1::PingRequest request;
  request.set_proto_version(kProtoVersion + 2);
  v1::PingReply pong;
  const grpc::Status status = stub_->Ping(&context, request, &pong);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              Names(absl::StrCat("proto ", kProtoVersion + 2), absl::StrCat("side ", kProtoVersion)));
}

TEST_F(AdminServerTest, StatusComesFromTheLoop) {
  std::atomic<bool> answered = false;
  v1::StatusAnswer answer;
  std::thread caller([&] {
    grpc::ClientContext context;
    v1::StatusRequest request;
    request.set_latencies(true);
    EXPECT_TRUE(stub_->Status(&context, request, &answer).ok());
    answered = true;
    mailbox_->Post([] {});
  });
  while (!answered) {
    if (!mailbox_->Drain()) poller_->Wait(absl::Milliseconds(100));
  }
  caller.join();
  EXPECT_EQ(answer.node(), "n1");
  EXPECT_EQ(answer.incarnation(), 7u);
  EXPECT_EQ(answer.counters().at("events"), 3u);
  ASSERT_EQ(answer.collectives_size(), 1);
  EXPECT_EQ(answer.collectives(0).arguments(), "barrier");
  EXPECT_EQ(answer.collectives(0).missing(0), 2u);
  EXPECT_EQ(answer.planner_refusal(), "no");
  ASSERT_EQ(answer.latencies_size(), 1);
  EXPECT_EQ(answer.latencies(0).part(), "call");
  EXPECT_EQ(answer.latencies(0).count(0), 2u);
}

// One request of many at once, each over a connection of its own.
struct Question {
  explicit Question(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub = v1::NodeAdminService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  std::unique_ptr<v1::NodeAdminService::Stub> stub;
  grpc::ClientContext context;
  v1::StatusRequest request;
  v1::StatusAnswer answer;
};

TEST_F(AdminServerTest, ManyWhoAskAreAnsweredAtOnce) {
  Mutex mutex;
  CondVar changed;
  std::map<grpc::StatusCode, int> ends;
  std::vector<std::unique_ptr<Question>> questions;
  for (size_t i = 0; i < AdminServer::kStatusesMax + 3; ++i) {
    Question& question = *questions.emplace_back(std::make_unique<Question>(server_->address()));
    question.context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    question.stub->async()->Status(&question.context, &question.request, &question.answer,
                                   [&](const grpc::Status& status) {
                                     MutexLock lock(&mutex);
                                     ++ends[status.error_code()];
                                     changed.NotifyAll();
                                   });
  }
  const auto await = [&](grpc::StatusCode code, int count) {
    MutexLock lock(&mutex);
    while (ends[code] < count && ends[grpc::StatusCode::DEADLINE_EXCEEDED] == 0) changed.Wait(&mutex);
    EXPECT_EQ(ends[code], count);
  };
  await(grpc::StatusCode::RESOURCE_EXHAUSTED, 3);
  std::atomic<bool> answered = false;
  std::thread awaits([&] {
    await(grpc::StatusCode::OK, static_cast<int>(AdminServer::kStatusesMax));
    answered = true;
    mailbox_->Post([] {});
  });
  while (!answered) {
    if (!mailbox_->Drain()) poller_->Wait(absl::Milliseconds(100));
  }
  awaits.join();
  EXPECT_LE(statuses_, 2) << "one for who came first, and one for all others";
}

TEST_F(AdminServerTest, StopsWhileAskedAndAnswersNobodyAfterwards) {
  std::thread caller([&] {
    for (int i = 0; i < 3; ++i) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
      v1::StatusAnswer answer;
      stub_->Status(&context, {}, &answer);  // answered or not, but not forever
    }
  });
  while (!mailbox_->Drain()) poller_->Wait(absl::Milliseconds(100));
  server_->Stop();
  server_->Stop();
  caller.join();
  grpc::ClientContext context;
  v1::PingReply pong;
  EXPECT_EQ(stub_->Ping(&context, {}, &pong).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AdminServerTest, TwoCannotListenOnOnePort) {
  const auto second = AdminServer::Start({.listen = server_->address()}, mailbox_.get(), nullptr);
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
}

TEST_F(AdminServerTest, RefusesToListenBeyondLoopback) {
  const auto wide = AdminServer::Start({.listen = "0.0.0.0:0"}, mailbox_.get(), nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(wide.status())) << wide.status();
  EXPECT_TRUE(AdminServer::Start({.listen = "0.0.0.0:0", .insecure = true}, mailbox_.get(), nullptr).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(AdminServer::Start({.listen = "x"}, mailbox_.get(), nullptr).status()));
}

}  // namespace
}  // namespace copse::daemon
