// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/admin_server.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// Returns a new folder; the names of Bazel's are too long for a socket.
std::string Folder() {
  std::string folder = "/tmp/copse-adminXXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

class AdminServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(poller_->Watch(mailbox_->event_fd(), EPOLLIN | EPOLLET, nullptr).ok());
    const auto status = [this](bool latencies) {
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
    };
    const auto change_job = [this](const JobChange& change) -> absl::StatusOr<uint32_t> {
      changes_.push_back(absl::StrCat(change.begins ? "begin " : "end ", change.job, " ", change.uid,
                                      change.exclusive ? " exclusive" : ""));
      return change.begins ? 0 : 3;
    };
    auto server = AdminServer::Start({.listen = "127.0.0.1:0", .socket = socket_}, mailbox_.get(), status, change_job);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = v1::NodeAdminService::NewStub(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  ~AdminServerTest() override {
    server_.reset();
    rmdir(socket_.substr(0, socket_.rfind('/')).c_str());
  }

  std::unique_ptr<Poller> poller_ = *Poller::Create();
  std::unique_ptr<Mailbox> mailbox_ = *Mailbox::Create();
  // Calls a method for the job while the loop runs. Returns the code, or how many clients have been ended.
  using ChangeMethod = grpc::Status (v1::NodeAdminService::Stub::*)(grpc::ClientContext*, const v1::ChangeJobRequest&,
                                                                    v1::ChangeJobReply*);
  std::pair<grpc::StatusCode, uint32_t> Change(v1::NodeAdminService::Stub* stub, ChangeMethod method,
                                               const std::string& job) {
    std::atomic<bool> answered = false;
    std::pair<grpc::StatusCode, uint32_t> result;
    std::thread caller([&] {
      grpc::ClientContext context;
      v1::ChangeJobRequest request;
      request.set_job(job);
      request.set_uid(1000);
      request.set_exclusive(true);
      v1::ChangeJobReply reply;
      result.first = (stub->*method)(&context, request, &reply).error_code();
      result.second = reply.clients();
      answered = true;
      mailbox_->Post([] {});
    });
    while (!answered) {
      if (!mailbox_->Drain()) poller_->Wait(absl::Milliseconds(100));
    }
    caller.join();
    return result;
  }

  const std::string socket_ = Folder() + "/copsed.sock.admin";
  std::vector<std::string> changes_;  // of jobs
  int statuses_ = 0;                  // number of requests to the loop
  std::unique_ptr<AdminServer> server_;
  std::unique_ptr<v1::NodeAdminService::Stub> stub_;
};

TEST_F(AdminServerTest, WithoutCertificatesJobsBeginAndEndOnItsSocketAlone) {
  using Stub = v1::NodeAdminService::Stub;
  constexpr auto kDenied = grpc::StatusCode::PERMISSION_DENIED;
  EXPECT_EQ(Change(stub_.get(), &Stub::BeginJob, "slurm-1").first, kDenied);
  EXPECT_EQ(Change(stub_.get(), &Stub::EndJob, "slurm-1").first, kDenied);
  EXPECT_TRUE(changes_.empty());
  const auto local =
      v1::NodeAdminService::NewStub(grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials()));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Change(local.get(), &Stub::BeginJob, "slurm-1"), std::pair(grpc::StatusCode::OK, 0u));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              Names("BeginJob", "job: \"slurm-1\"", "uid: 1000", "exclusive: true", "result=OK",
                    absl::StrCat("uid ", getuid())));
  EXPECT_EQ(Change(local.get(), &Stub::EndJob, "slurm-1"), std::pair(grpc::StatusCode::OK, 3u));
  EXPECT_EQ(changes_, (std::vector<std::string>{"begin slurm-1 1000 exclusive", "end slurm-1 1000"}));
  EXPECT_EQ(Change(local.get(), &Stub::EndJob, "").first, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Change(local.get(), &Stub::EndJob, std::string(257, 'j')).first, grpc::StatusCode::INVALID_ARGUMENT);
  struct stat socket {};
  ASSERT_EQ(stat(socket_.c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777u, 0660u);
  server_->Stop();
  EXPECT_NE(Change(local.get(), &Stub::EndJob, "slurm-1").first, grpc::StatusCode::OK);
}

TEST_F(AdminServerTest, LongRequestsAreRefused) {
  EXPECT_EQ(Change(stub_.get(), &v1::NodeAdminService::Stub::EndJob, std::string(65'000, 'j')).first,
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Change(stub_.get(), &v1::NodeAdminService::Stub::EndJob, std::string(66'000, 'j')).first,
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

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
