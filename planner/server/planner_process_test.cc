// SPDX-License-Identifier: Apache-2.0
//
// The planner over real gRPC, with a daemon that this test plays: its answers come when the test says so.
#include "planner/server/planner_process.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/version.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/status.h"

namespace copse::planner {
namespace {

std::string TestFile(const std::string& name) {
  return absl::StrCat(getenv("TEST_TMPDIR"), "/", testing::UnitTest::GetInstance()->current_test_info()->name(), name);
}

// One life of a planner, until it is told to end.
class Life {
 public:
  explicit Life(const std::string& state) {
    const std::string port_file = TestFile("port");
    config::Config config = NewConfig();
    config::Sources sources{.settings = {"listen=127.0.0.1:0", "state=" + state}};
    EXPECT_TRUE(config.Load(sources).ok());
    auto process = PlannerProcess::Start({*ReadSettings(config), config, sources, port_file});
    EXPECT_TRUE(process.ok()) << process.status();
    process_ = *std::move(process);
    std::ifstream(port_file) >> address_;
    thread_ = std::thread([this] {
      process_->Run();
      process_.reset();
    });
  }
  ~Life() { End(); }

  // As systemd stops it. Returns how long it took.
  absl::Duration End() {
    const absl::Time begin = absl::Now();
    if (thread_.joinable()) {
      kill(getpid(), SIGTERM);
      thread_.join();
    }
    return absl::Now() - begin;
  }

  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
  }

 private:
  std::unique_ptr<PlannerProcess> process_;
  std::string address_;
  std::thread thread_;
};

// A daemon's stream, with the test as the daemon.
class PlayedDaemon {
 public:
  explicit PlayedDaemon(const Life& life)
      : stub_(v1::DaemonService::NewStub(life.Channel())), stream_(stub_->Attach(&context_)) {}
  ~PlayedDaemon() { context_.TryCancel(); }

  void Send(const schedule::FromDaemon& message) {
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    EXPECT_TRUE(stream_->Write(proto));
  }
  // The next message, which must be a T.
  template <typename T>
  T Await() {
    v1::ToDaemon proto;
    EXPECT_TRUE(stream_->Read(&proto));
    auto message = rpc::FromProto(proto);
    EXPECT_TRUE(message.ok()) << message.status();
    EXPECT_TRUE(message.ok() && std::holds_alternative<T>(*message)) << proto.ShortDebugString();
    return message.ok() && std::holds_alternative<T>(*message) ? std::get<T>(*message) : T();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::FromDaemon, v1::ToDaemon>> stream_;
};

schedule::NodeAnnouncement Announcement() {
  return {.name = "n0",
          .incarnation = Incarnation(77),
          .worker_address = "address",
          .version = kVersion,
          .formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion},
          .memory_limit_bytes = 1 << 20,
          .admin_address = "127.0.0.1:1"};
}

v1::ListTeamsReply Teams(const Life& life) {
  grpc::ClientContext context;
  v1::ListTeamsReply reply;
  const grpc::Status status = v1::AdminService::NewStub(life.Channel())->ListTeams(&context, {}, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

TEST(PlannerProcessTest, EndsThoughSomebodyWaitsForADaemonThatDoesNotAnswer) {
  Life life("");
  PlayedDaemon daemon(life);
  daemon.Send(schedule::Register{.node = Announcement()});
  EXPECT_TRUE(daemon.Await<schedule::Registered>().accepted);
  grpc::Status asked;
  std::thread asking([&] {
    grpc::ClientContext context;
    v1::ListCollectivesRequest request;
    request.set_timeout_s(60);
    v1::ListCollectivesReply reply;
    asked = v1::AdminService::NewStub(life.Channel())->ListCollectives(&context, request, &reply);
  });
  daemon.Await<schedule::StatusQuery>();  // and never an answer
  EXPECT_LT(life.End(), absl::Seconds(10));
  asking.join();
  EXPECT_EQ(asked.error_code(), grpc::StatusCode::UNAVAILABLE) << asked.error_message();
}

TEST(PlannerProcessTest, ATeamOutlivesThePlanner) {
  const std::string state = TestFile("state");
  schedule::RunningTeam running;
  {
    Life life(state);
    PlayedDaemon daemon(life);
    daemon.Send(schedule::Register{.node = Announcement()});
    EXPECT_TRUE(daemon.Await<schedule::Registered>().accepted);
    daemon.Send(schedule::JoinTeam{.request = 5, .identity = {.uid = 1, .name = "alone"}, .rank = Rank(0), .size = 1});
    const auto prepare = daemon.Await<schedule::Prepare>();
    EXPECT_EQ(prepare.layout.identity.name, "alone");
    ASSERT_EQ(prepare.requests.size(), 1u);
    EXPECT_EQ(prepare.requests[0].first, 5u);
    daemon.Send(schedule::PrepareReply{.team = prepare.layout.id, .epoch = prepare.epoch, .accepted = true});
    EXPECT_EQ(daemon.Await<schedule::Commit>().epoch, prepare.epoch);
    daemon.Send(schedule::CommitReply{.team = prepare.layout.id, .epoch = prepare.epoch});
    running = {.layout = prepare.layout, .epoch = prepare.epoch, .plans = prepare.plans};
  }
  Life life(state);
  EXPECT_EQ(Teams(life).teams_size(), 1) << "also before its daemon is back";
  PlayedDaemon daemon(life);
  daemon.Send(schedule::Register{.node = Announcement(), .teams = {running}});
  const auto registered = daemon.Await<schedule::Registered>();
  EXPECT_TRUE(registered.accepted);
  EXPECT_TRUE(registered.forgotten.empty());
  daemon.Send(schedule::LeaveTeam{.team = running.layout.id});
  EXPECT_EQ(daemon.Await<schedule::EndTeam>().team, running.layout.id);
}

TEST(PlannerProcessTest, AMessageThatCannotBeReadEndsItsStreamOnly) {
  Life life("");
  PlayedDaemon good(life);
  good.Send(schedule::Register{.node = Announcement()});
  EXPECT_TRUE(good.Await<schedule::Registered>().accepted);
  grpc::ClientContext context;
  auto stub = v1::DaemonService::NewStub(life.Channel());
  auto stream = stub->Attach(&context);
  EXPECT_TRUE(stream->Write(v1::FromDaemon()));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  grpc::ClientContext ask;
  v1::ListNodesReply nodes;
  EXPECT_TRUE(v1::AdminService::NewStub(life.Channel())->ListNodes(&ask, {}, &nodes).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).state(), "ready");
}

}  // namespace
}  // namespace copse::planner

int main(int argc, char** argv) {
  copse::planner::BlockSignals();  // before gRPC makes threads
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
