// SPDX-License-Identifier: Apache-2.0
//
// Streams over real gRPC, of daemons that send or take too little or too much. The test is the planner's thread.
#include "planner/sessions/daemon_service.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rpc/control_conversion.h"
#include "rpc/status.h"
#include "rpc/team_content.h"

namespace copse::planner {
namespace {

using coordinator::SessionId;
using testing::FailsWith;

constexpr uint64_t kQueuedBytesMax = 1 << 20;

class DaemonServiceTest : public ::testing::Test, public StreamEvents {
 protected:
  using ClientStream = grpc::ClientReaderWriter<v1::FromDaemon, v1::ToDaemon>;

  DaemonServiceTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // the window of a stream that is not read stays small
    stub_ = v1::DaemonService::NewStub(
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  }
  ~DaemonServiceTest() override {
    service_.CloseAll(absl::UnavailableError("the test is over"));
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    queue_.RunUntil(absl::InfinitePast());  // the streams' last references
  }

  void OnConnected(SessionId session, const std::string&) override { connected_.push_back(session); }
  bool Admits(SessionId, const schedule::NodeAnnouncement&) override { return true; }
  void OnMessage(SessionId session, const schedule::FromDaemon& message) override {
    messages_.push_back(message);
    if (std::holds_alternative<schedule::Register>(message)) service_.Send(session, schedule::Drain{true});
  }
  void OnDisconnected(SessionId session) override { disconnected_.push_back(session); }

  // Runs the planner's tasks until `done`; the test's time-out ends it otherwise.
  template <typename Done>
  void RunUntil(Done done) {
    while (!done()) queue_.RunUntil(absl::InfiniteFuture());
  }
  // Returns the status with which the server ended the stream.
  static absl::Status StatusOf(ClientStream* stream) {
    v1::ToDaemon message;
    while (stream->Read(&message)) continue;
    return rpc::FromGrpc(stream->Finish());
  }

  const MonotonicClock clock_;
  TaskQueue queue_{&clock_};
  const rpc::Authorizer authorizer_;
  DaemonService service_{&queue_, this, &authorizer_, {.queued_bytes_max = kQueuedBytesMax}};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  std::vector<SessionId> connected_, disconnected_;
  std::vector<schedule::FromDaemon> messages_;
};

// A SilentDaemon takes nothing until ReadOn. It is asynchronous, as daemons are: gRPC 1.51's blocking Read waits for
// ever where a stream is reset in the middle of a message.
class SilentDaemon final : public grpc::ClientBidiReactor<v1::FromDaemon, v1::ToDaemon> {
 public:
  explicit SilentDaemon(v1::DaemonService::Stub* stub) {
    stub->async()->Attach(&context_, this);
    AddHold();
    StartCall();
  }
  void ReadOn() {
    StartRead(&message_);
    RemoveHold();
  }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override { status_.set_value(rpc::FromGrpc(status)); }
  absl::Status Status() { return status_.get_future().get(); }

 private:
  grpc::ClientContext context_;
  v1::ToDaemon message_;
  std::promise<absl::Status> status_;
};

v1::FromDaemon Leave(uint64_t team) {
  v1::FromDaemon proto;
  rpc::ToProto(schedule::LeaveTeam{TeamId(team)}, &proto);
  return proto;
}

TEST_F(DaemonServiceTest, ADaemonIsReadAheadByFewMessages) {
  constexpr size_t kMessages = 200, kAhead = 8;
  grpc::ClientContext context;
  const auto stream = stub_->Attach(&context);
  for (uint64_t i = 1; i <= kMessages; ++i) ASSERT_TRUE(stream->Write(Leave(i)));
  while (service_.Counts().received < kAhead) std::this_thread::yield();
  // A call behind the messages, on the same connection, has been answered: all messages have reached the server.
  grpc::ClientContext other_context;
  v1::Leader leader;
  const auto other = stub_->WatchLeader(&other_context, {});
  ASSERT_TRUE(other->Read(&leader));
  other_context.TryCancel();
  EXPECT_EQ(service_.Counts().received, kAhead);
  size_t most = 0;
  while (messages_.size() < kMessages) {
    most = std::max(most, queue_.size());
    queue_.RunUntil(absl::InfiniteFuture());
  }
  EXPECT_LE(most, kAhead + 2) << "with the tasks of the stream's beginning and end";
  for (size_t i = 0; i < kMessages; ++i) EXPECT_EQ(std::get<schedule::LeaveTeam>(messages_[i]).team, TeamId(i + 1));
  context.TryCancel();
  RunUntil([this] { return disconnected_ == connected_; });
}

TEST_F(DaemonServiceTest, ADaemonThatTakesNothingLosesItsStream) {
  SilentDaemon daemon(stub_.get());
  RunUntil([this] { return connected_.size() == 1; });
  grpc::ClientContext other_context;
  const auto other = stub_->Attach(&other_context);
  RunUntil([this] { return connected_.size() == 2; });
  const SessionId silent = connected_[0];
  schedule::Abort abort{TeamId(1), EpochId(1), {}, std::vector<uint64_t>(8192, uint64_t{1} << 62), false};
  uint64_t sent = 0, most = 0;
  for (; service_.Counts().sessions == 2; ++sent) {
    service_.Send(silent, abort);
    most = std::max(most, service_.Counts().queued_bytes_most);
    queue_.RunUntil(absl::InfinitePast());  // returns at once
    ASSERT_LT(sent, 10'000u);
  }
  EXPECT_LE(most, kQueuedBytesMax);
  ASSERT_EQ(disconnected_, std::vector<SessionId>{silent});
  daemon.ReadOn();
  EXPECT_FALSE(daemon.Status().ok());
  // The other one goes on.
  service_.Send(connected_[1], schedule::Drain{true});
  v1::ToDaemon message;
  ASSERT_TRUE(other->Read(&message));
  EXPECT_TRUE(message.has_drain());
  other_context.TryCancel();
  RunUntil([this] { return disconnected_.size() == 2; });
}

TEST_F(DaemonServiceTest, OneMessageMayBeLongerThanTheQueue) {
  grpc::ClientContext context;
  const auto stream = stub_->Attach(&context);
  RunUntil([this] { return connected_.size() == 1; });
  const std::vector<uint64_t> many(2 * kQueuedBytesMax / 9, uint64_t{1} << 62);
  service_.Send(connected_[0], schedule::Abort{TeamId(1), EpochId(1), {}, many, false});
  v1::ToDaemon message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.abort().requests_size(), static_cast<int>(many.size()));
  EXPECT_TRUE(disconnected_.empty());
  context.TryCancel();
  RunUntil([this] { return disconnected_.size() == 1; });
}

TEST_F(DaemonServiceTest, ALongMessageBeforeRegisterIsNotDecoded) {
  grpc::ClientContext context;
  const auto stream = stub_->Attach(&context);
  schedule::PrepareReply reply{.team = TeamId(1), .epoch = EpochId(1), .accepted = true, .why = {}};
  for (uint32_t i = 0; i < 60'000; ++i) reply.incoming.push_back({NodeIndex(i), i});
  v1::FromDaemon proto;
  rpc::ToProto(reply, &proto);
  ASSERT_GT(proto.ByteSizeLong(), size_t{256} << 10);
  ASSERT_TRUE(stream->Write(proto));
  EXPECT_THAT(StatusOf(stream.get()), FailsWith(absl::StatusCode::kInvalidArgument,
                                                absl::StrCat("bytes=", proto.ByteSizeLong()), "limit=262144"));
  RunUntil([this] { return disconnected_.size() == 1; });
  EXPECT_TRUE(messages_.empty());
}

TEST_F(DaemonServiceTest, ADaemonThatIsSilentAfterItsRegisterHoldsUpNoOtherMember) {
  v1::FromDaemon brief;
  schedule::TeamLayout layout{.id = TeamId(9),
                              .shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1)}, .node_count = 2}};
  layout.nodes = {{"n0", Incarnation(1), ""}, {"n1", Incarnation(2), ""}};
  rpc::ToProto(schedule::Register{.teams = {{.layout = layout, .epoch = EpochId(3), .plans = {}, .why = {}}}}, &brief);
  v1::FromDaemon content;
  *content.mutable_content() = rpc::TakeContent(brief.mutable_register_()->mutable_teams(0));
  grpc::ClientContext silent_context, other_context;
  const auto begin = [&](grpc::ClientContext* context, const char* name) {
    auto stream = stub_->AttachBriefly(context);
    brief.mutable_register_()->mutable_node()->set_name(name);
    EXPECT_TRUE(stream->Write(brief));
    return stream;
  };
  const auto silent = begin(&silent_context, "n0");
  v1::ToDaemon message;
  std::thread silent_reads([&] { EXPECT_TRUE(silent->Read(&message) && message.has_content_query()); });
  RunUntil([&] { return service_.Counts().sent == 1; });
  silent_reads.join();
  const auto other = begin(&other_context, "n1");
  std::thread answering([&] {
    v1::ToDaemon query;
    EXPECT_TRUE(other->Read(&query) && query.has_content_query());
    EXPECT_TRUE(other->Write(content));
  });
  while (messages_.size() < 2) {
    service_.Tick(clock_.Now());
    queue_.RunUntil(service_.NextDeadline());
  }
  answering.join();
  for (const schedule::FromDaemon& registration : messages_) {
    EXPECT_EQ(std::get<schedule::Register>(registration).teams.at(0).layout, layout);
  }
  silent_context.TryCancel();
  other_context.TryCancel();
  RunUntil([this] { return disconnected_.size() == 2; });
}

TEST_F(DaemonServiceTest, ALongRegisterIsTaken) {
  grpc::ClientContext context;
  const auto stream = stub_->Attach(&context);
  schedule::Register message{.node = {.name = "n0", .join_token = std::string(size_t{300} << 10, 't')}};
  v1::FromDaemon proto;
  rpc::ToProto(message, &proto);
  ASSERT_TRUE(stream->Write(proto));
  ASSERT_TRUE(stream->Write(Leave(7)));
  RunUntil([this] { return messages_.size() == 2; });
  EXPECT_TRUE(std::holds_alternative<schedule::Register>(messages_[0]));
  v1::ToDaemon answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_TRUE(answer.has_drain());
  context.TryCancel();
  RunUntil([this] { return disconnected_.size() == 1; });
}

}  // namespace
}  // namespace copse::planner
