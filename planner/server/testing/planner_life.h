// SPDX-License-Identifier: Apache-2.0
//
// The planner over real gRPC, in the test's process, with daemons that the test plays: it decides when they answer.
#ifndef COPSE_PLANNER_SERVER_TESTING_PLANNER_LIFE_H_
#define COPSE_PLANNER_SERVER_TESTING_PLANNER_LIFE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/server/planner_process.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"

namespace copse::planner {

// Returns the path of a file of the test that runs.
inline std::string TestFile(const std::string& name) {
  return absl::StrCat(getenv("TEST_TMPDIR"), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                      name);
}

// Life is one planner from its start to its end.
class Life {
 public:
  explicit Life(const std::string& state, const std::string& topology = "", const std::string& rules = "")
      : Life({"state=" + state, "topology=" + topology, "rules=" + rules}, nullptr) {}
  Life(std::vector<std::string> settings, coordinator::PlanMaker* plan_maker) {
    const std::string port_file = TestFile("port");
    config::Config config = NewConfig();
    settings.push_back("listen=127.0.0.1:0");
    config::Sources sources{.settings = std::move(settings)};
    EXPECT_TRUE(config.Load(sources).ok());
    auto process = PlannerProcess::Start({*ReadSettings(config), config, sources, port_file, plan_maker});
    EXPECT_TRUE(process.ok()) << process.status();
    process_ = *std::move(process);
    std::ifstream(port_file) >> address_;
    thread_ = std::thread([this] {
      EXPECT_TRUE(process_->Run().ok());
      process_.reset();
    });
  }
  ~Life() { End(); }

  // Stops the planner by SIGTERM, like systemd. Returns the duration.
  absl::Duration End() {
    const absl::Time begin = absl::Now();
    if (thread_.joinable()) {
      kill(getpid(), SIGTERM);
      thread_.join();
    }
    return absl::Now() - begin;
  }

  const std::string& address() const { return address_; }
  std::shared_ptr<grpc::Channel> Channel() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);            // the window of a stream that is not read stays small
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own, as another program has
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }

 private:
  std::unique_ptr<PlannerProcess> process_;
  std::string address_;
  std::thread thread_;
};

inline schedule::NodeAnnouncement Announcement(const std::string& name = "n0") {
  return {.name = name,
          .incarnation = Incarnation(77),
          .worker_address = "address",
          .version = kVersion,
          .formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion},
          .memory_limit_bytes = 1 << 20,
          .admin_address = "127.0.0.1:1"};
}

inline schedule::JoinTeam Alone(uint64_t request, const std::string& name) {
  return {.request = request, .identity = {.uid = 1, .name = name}, .rank = Rank(0), .size = 1};
}

// PlayedDaemon is a daemon's stream, with the test as the daemon.
class PlayedDaemon {
 public:
  explicit PlayedDaemon(const Life& life)
      : stub_(v1::DaemonService::NewStub(life.Channel())), stream_(stub_->Attach(&context_)) {}
  ~PlayedDaemon() { context_.TryCancel(); }

  void Send(const schedule::FromDaemon& message) {
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    SendProto(proto);
  }
  void SendProto(const v1::FromDaemon& proto) { EXPECT_TRUE(stream_->Write(proto)); }
  schedule::Registered Register(const std::string& name = "n0", std::vector<schedule::RunningTeam> teams = {},
                                const schedule::Features& features = {}) {
    schedule::NodeAnnouncement announcement = Announcement(name);
    announcement.features = features;
    Send(schedule::Register{.node = announcement, .teams = std::move(teams)});
    const auto registered = Await<schedule::Registered>();
    EXPECT_TRUE(registered.accepted);
    return registered;
  }
  // Takes part in the next epoch of a team.
  schedule::Prepare RunEpoch() {
    const auto prepare = Await<schedule::Prepare>();
    Send(schedule::PrepareReply{.team = prepare.layout.id, .epoch = prepare.epoch, .accepted = true});
    EXPECT_EQ(Await<schedule::Commit>().epoch, prepare.epoch);
    Send(schedule::CommitReply{.team = prepare.layout.id, .epoch = prepare.epoch});
    return prepare;
  }
  // Awaits the next message, which must be a T.
  template <typename T>
  T Await() {
    v1::ToDaemon proto;
    EXPECT_TRUE(stream_->Read(&proto));
    while (proto.has_content()) {
      ++contents;
      EXPECT_TRUE(rpc::CheckContent(proto.content()).ok());
      contents_.Add(proto.content().sha256(), proto.content().zstd(), proto.content().zstd().size());
      EXPECT_TRUE(stream_->Read(&proto));
    }
    if (proto.has_prepare() && !proto.prepare().content().empty()) {
      EXPECT_EQ(rpc::Join(&contents_, proto.mutable_prepare()), absl::OkStatus());
    }
    auto message = rpc::FromProto(proto);
    // Listing teams makes the planner query the daemons for calls; it continues without an answer.
    while (message.ok() && std::holds_alternative<schedule::StatusQuery>(*message) &&
           !std::is_same_v<T, schedule::StatusQuery>) {
      EXPECT_TRUE(stream_->Read(&proto));
      message = rpc::FromProto(proto);
    }
    EXPECT_TRUE(message.ok()) << message.status();
    EXPECT_TRUE(message.ok() && std::holds_alternative<T>(*message)) << proto.ShortDebugString();
    return message.ok() && std::holds_alternative<T>(*message) ? std::get<T>(*message) : T();
  }

  int contents = 0;  // contents that were sent to this daemon

 private:
  rpc::ContentWindow contents_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::FromDaemon, v1::ToDaemon>> stream_;
};

// Makes one call of an administrator.
template <typename Request, typename Reply>
grpc::Status Ask(const Life& life,
                 grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                 const Request& request, Reply* reply) {
  grpc::ClientContext context;
  return (v1::AdminService::NewStub(life.Channel()).get()->*method)(&context, request, reply);
}

// Makes one call of an administrator that has no arguments and must succeed.
template <typename Request, typename Reply>
Reply List(const Life& life,
           grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*, const Request&, Reply*)) {
  Reply reply;
  const grpc::Status status = Ask(life, method, {}, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

inline v1::ListTeamsReply Teams(const Life& life) { return List(life, &v1::AdminService::Stub::ListTeams); }

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TESTING_PLANNER_LIFE_H_
