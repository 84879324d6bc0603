// SPDX-License-Identifier: Apache-2.0
//
// The planner over real gRPC, with a daemon that this test plays: the test decides when it answers.
#include "planner/server/planner_process.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "collectives/call_arguments.h"
#include "planner/coordinator/testing/fake_plan_maker.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/credentials.h"
#include "rpc/status.h"
#include "rpc/team_content.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::Names;

std::string TestFile(const std::string& name) {
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
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // the window of a stream that is not read stays small
    return grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
  }

 private:
  std::unique_ptr<PlannerProcess> process_;
  std::string address_;
  std::thread thread_;
};

schedule::NodeAnnouncement Announcement(const std::string& name = "n0") {
  return {.name = name,
          .incarnation = Incarnation(77),
          .worker_address = "address",
          .version = kVersion,
          .formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion},
          .memory_limit_bytes = 1 << 20,
          .admin_address = "127.0.0.1:1"};
}

schedule::JoinTeam Alone(uint64_t request, const std::string& name) {
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

v1::ListTeamsReply Teams(const Life& life) { return List(life, &v1::AdminService::Stub::ListTeams); }

TEST(PlannerProcessTest, EndsThoughSomebodyWaitsForADaemonThatDoesNotAnswer) {
  Life life("");
  PlayedDaemon daemon(life);
  daemon.Register();
  grpc::Status asked;
  std::thread asking([&] {
    v1::ListCollectivesRequest request;
    request.set_timeout_s(60);
    v1::ListCollectivesReply reply;
    asked = Ask(life, &v1::AdminService::Stub::ListCollectives, request, &reply);
  });
  daemon.Await<schedule::StatusQuery>();  // never answered
  EXPECT_LT(life.End(), absl::Seconds(10));
  asking.join();
  EXPECT_EQ(asked.error_code(), grpc::StatusCode::UNAVAILABLE) << asked.error_message();
}

std::map<std::string, uint64_t> Counters(const Life& life) {
  const auto reply = List(life, &v1::AdminService::Stub::GetPlannerStats);
  return {reply.counters().begin(), reply.counters().end()};
}

TEST(PlannerProcessTest, TellsWhatItIs) {
  const std::string state = TestFile("state.db");
  for (const std::string& store : {std::string(), state}) {
    Life life(store);
    PlayedDaemon daemon(life);
    daemon.Register();
    const auto status = List(life, &v1::AdminService::Stub::GetPlannerStatus);
    EXPECT_EQ(status.role(), "leader");
    EXPECT_EQ(status.leader(), status.address());
    EXPECT_EQ(status.address(), life.address());
    EXPECT_EQ(status.version(), kVersion);
    EXPECT_EQ(status.store(), store.empty() ? "memory" : "sqlite:" + state);
    EXPECT_EQ(status.sessions(), 1u);
    EXPECT_GE(status.term(), 1u);
    EXPECT_GE(status.since_s(), 0);
    EXPECT_LT(status.since_s(), 600);
    EXPECT_GT(status.longest_turn_ms(), 0);
    EXPECT_EQ(status.longest_turn_at().size(), sizeof("2026-01-01T00:00:00Z") - 1) << status.longest_turn_at();
  }
}

TEST(PlannerProcessTest, CountsItself) {
  Life life("");
  PlayedDaemon daemon(life);
  daemon.Register();
  daemon.Send(Alone(5, "alone"));
  daemon.RunEpoch();
  const auto reply = List(life, &v1::AdminService::Stub::GetPlannerStats);
  std::map<std::string, uint64_t> counters(reply.counters().begin(), reply.counters().end());
  EXPECT_EQ(counters["sessions"], 1u);
  EXPECT_EQ(counters["nodes.ready"], 1u);
  EXPECT_EQ(counters["nodes.lost"], 0u);
  EXPECT_EQ(counters["teams.ready"], 1u);
  EXPECT_EQ(counters["formations.formed"], 1u);
  EXPECT_GT(counters["formations.time_max_us"], 0u);
  EXPECT_GE(counters["formations.time_max_us"], counters["formations.time_p50_us"]);
  EXPECT_EQ(counters["plans.sets_made"], 1u);
  EXPECT_GT(counters["plans.cpu_us"], 0u);
  EXPECT_EQ(counters["messages.sent"], 3u) << "Registered, Prepare and Commit";
  EXPECT_GE(counters["messages.received"], 3u) << "Register, JoinTeam, PrepareReply, and CommitReply unless it is late";
  EXPECT_GT(counters["messages.sent_bytes"], 0u);
  EXPECT_GT(counters["messages.received_bytes"], 0u);
  EXPECT_GT(counters["loop.turns"], 0u);
  EXPECT_GE(counters["process.cpu_us"], counters["loop.cpu_us"]);
  EXPECT_GE(counters["loop.cpu_us"], counters["loop.turn_max_us"]);
  EXPECT_GT(counters["loop.turn_max_at_s"], 1'700'000'000u);
  EXPECT_GT(counters["queue.oldest_max_us"], 0u);
  EXPECT_GT(counters["process.memory_bytes"], 1u << 20);
  uint64_t turns = 0;
  for (const uint64_t count : reply.turns().count()) turns += count;
  EXPECT_EQ(turns, counters["loop.turns"]);
  EXPECT_EQ(reply.turns().max_ns() / 1000, counters["loop.turn_max_us"]);
  EXPECT_EQ(reply.formations().count_size(), 1);
}

// A daemon that reads nothing lets its answers queue up at the planner.
TEST(PlannerProcessTest, CountsWhatItCannotSend) {
  constexpr uint64_t kQueries = 5000;  // their answers exceed a stream's window of 64 KiB
  Life life("");
  PlayedDaemon daemon(life);
  daemon.Register();
  PlayedDaemon other(life);
  other.Register("n1");
  std::thread asking([&daemon] {
    for (uint64_t i = 0; i < kQueries; ++i) daemon.Send(schedule::EpochQuery{TeamId{7}, EpochId{1}});
  });
  std::map<std::string, uint64_t> counters;
  do {
    counters = Counters(life);
  } while (counters["messages.sent"] < 2 + kQueries);
  asking.join();
  EXPECT_GT(counters["sessions.queued_bytes"], 0u);
  EXPECT_EQ(counters["sessions.queued_bytes_most"], counters["sessions.queued_bytes"]) << "the other one has none";
  EXPECT_LT(counters["sessions.queued_bytes"], counters["messages.sent_bytes"]);
  for (uint64_t i = 0; i < kQueries; ++i) daemon.Await<schedule::Abort>();
  while (counters["sessions.queued_bytes"] > 0) counters = Counters(life);
  EXPECT_EQ(counters["sessions.queued_bytes_most"], 0u);
}

// One of three daemons is of an earlier version.
TEST(PlannerProcessTest, AContentIsSentOnceWithTheAddressesOfNeighbors) {
  constexpr uint32_t kNodes = 3;
  Life life("");
  std::vector<std::unique_ptr<PlayedDaemon>> daemons;
  for (uint32_t n = 0; n < kNodes; ++n) {
    daemons.push_back(std::make_unique<PlayedDaemon>(life));
    const bool earlier = n == 2;
    daemons[n]->Register(absl::StrCat("n", n), {},
                         earlier ? schedule::Features{} : schedule::Features{schedule::Feature::kContent});
  }
  std::set<TeamId> teams;
  for (uint64_t round = 1; round <= 2; ++round) {
    for (uint32_t n = 0; n < kNodes; ++n) {
      daemons[n]->Send(schedule::JoinTeam{
          .request = round, .identity = {.uid = 1, .nonce = round, .name = "three"}, .rank = Rank(n), .size = kNodes});
    }
    for (uint32_t n = 0; n < kNodes; ++n) {
      const auto prepare = daemons[n]->Await<schedule::Prepare>();
      EXPECT_EQ(prepare.requests, (std::vector<std::pair<uint64_t, Rank>>{{round, Rank(n)}}));
      ASSERT_EQ(prepare.layout.nodes.size(), kNodes);
      teams.insert(prepare.layout.id);
      std::vector<schedule::Plan> plans;
      for (const std::string& plan : prepare.plans) plans.push_back(schedule::DecodePlan(plan).value());
      EXPECT_EQ(prepare.hash, schedule::PlanHash(absl::StrJoin(prepare.plans, "")));
      const auto neighbors = schedule::NeighborsByNode(plans, kNodes);
      EXPECT_FALSE(neighbors[n].empty());
      for (const uint32_t neighbor : neighbors[n]) {
        EXPECT_EQ(prepare.layout.nodes[neighbor].worker_address, "address");
      }
    }
  }
  EXPECT_EQ(teams.size(), 2u);
  EXPECT_EQ(daemons[0]->contents, 1);
  EXPECT_EQ(daemons[1]->contents, 1);
  EXPECT_EQ(daemons[2]->contents, 0);
}

TEST(PlannerProcessTest, ATeamOutlivesThePlanner) {
  const std::string state = TestFile("state");
  schedule::RunningTeam running;
  {
    Life life(state);
    PlayedDaemon daemon(life);
    daemon.Register();
    daemon.Send(Alone(5, "alone"));
    const auto prepare = daemon.RunEpoch();
    EXPECT_EQ(prepare.layout.identity.name, "alone");
    ASSERT_EQ(prepare.requests.size(), 1u);
    EXPECT_EQ(prepare.requests[0].first, 5u);
    running = {.layout = prepare.layout, .epoch = prepare.epoch, .plans = prepare.plans};
  }
  Life life(state);
  EXPECT_EQ(Teams(life).teams_size(), 1) << "also before its daemon is back";
  PlayedDaemon daemon(life);
  EXPECT_TRUE(daemon.Register("n0", {running}).forgotten.empty());
  daemon.Send(schedule::LeaveTeam{.team = running.layout->id});
  EXPECT_EQ(daemon.Await<schedule::EndTeam>().team, running.layout->id);
}

TEST(PlannerProcessTest, AMessageThatCannotBeReadEndsItsStreamOnly) {
  Life life("");
  PlayedDaemon good(life);
  good.Register();
  grpc::ClientContext context;
  auto stub = v1::DaemonService::NewStub(life.Channel());
  auto stream = stub->Attach(&context);
  v1::FromDaemon unreadable;
  unreadable.mutable_register_()->mutable_node()->set_name(std::string(rpc::kNodeNameBytesMax + 1, 'n'));
  EXPECT_TRUE(stream->Write(unreadable));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const v1::ListNodesReply nodes = List(life, &v1::AdminService::Stub::ListNodes);
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).state(), "ready");
}

TEST(PlannerProcessTest, AMessageOfANewerKindIsIgnored) {
  Life life("");
  PlayedDaemon daemon(life);
  daemon.Register();
  v1::FromDaemon newer;
  newer.GetReflection()->MutableUnknownFields(&newer)->AddLengthDelimited(4711, "what is new");
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) daemon.SendProto(newer);
  daemon.Send(Alone(1, "team"));
  EXPECT_EQ(daemon.Await<schedule::Prepare>().layout.identity.name, "team");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("(ignored=4)"), std::string::npos) << said;
  EXPECT_EQ(said.find("(ignored=5)"), std::string::npos) << said;
}

TEST(PlannerProcessTest, AProbeEndsWithItsCallerOrWhenItIsStopped) {
  Life life("");
  PlayedDaemon daemon(life), other(life);
  daemon.Register();
  other.Register("n1");
  const auto stub = v1::AdminService::NewStub(life.Channel());
  v1::ProbeTopologyRequest request;
  request.set_seconds(3600);
  const auto probe = [&](grpc::ClientContext* context) {
    v1::ProbeTopologyReply reply;
    return stub->ProbeTopology(context, request, &reply);
  };
  const auto stop = [&] {
    grpc::ClientContext context;
    v1::StopProbeReply reply;
    return stub->StopProbe(&context, {}, &reply);
  };
  EXPECT_EQ(stop().error_code(), grpc::StatusCode::FAILED_PRECONDITION);

  grpc::ClientContext interrupted;
  std::thread caller([&] { EXPECT_EQ(probe(&interrupted).error_code(), grpc::StatusCode::CANCELLED); });
  daemon.Await<schedule::MeasureQuery>();  // not answered: it ends when the measurement's time is over
  {
    grpc::ClientContext context;
    EXPECT_EQ(probe(&context).error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "another one is running";
  }
  interrupted.TryCancel();
  caller.join();

  grpc::Status stopped;
  std::thread again([&] {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    do {
      grpc::ClientContext context;
      stopped = probe(&context);
    } while (stopped.error_code() == grpc::StatusCode::FAILED_PRECONDITION && absl::Now() < deadline);
  });
  const auto query = daemon.Await<schedule::MeasureQuery>();
  std::thread stopping([&] { EXPECT_TRUE(stop().ok()); });
  daemon.Send(schedule::MeasureReply{.query = query.query, .why = {schedule::Failure::kNoResource, "not now"}});
  stopping.join();
  again.join();
  EXPECT_EQ(stopped.error_code(), grpc::StatusCode::ABORTED) << stopped.error_message();
}

TEST(DaemonServiceTest, AStreamThatComesWhileThePlannerStopsIsHeardNoMore) {
  struct Deaf : StreamEvents {
    void OnConnected(coordinator::SessionId, const std::string&) override { ++heard; }
    void OnMessage(coordinator::SessionId, const schedule::FromDaemon&) override { ++heard; }
    void OnDisconnected(coordinator::SessionId) override { ++heard; }
    int heard = 0;
  } events;
  const MonotonicClock clock;
  TaskQueue queue(&clock);
  const auto authorizer = rpc::MakeTokenAuthorizer("");
  DaemonService service(&queue, &events, authorizer.get());
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  service.CloseAll(absl::UnavailableError("the planner stops"));
  // Only this thread accesses `ended`, since RunUntil runs the task; its order pairs with nothing.
  std::atomic<bool> ended = false;
  grpc::Status status;
  std::thread late([&] {
    grpc::ClientContext context;
    const auto stub = v1::DaemonService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
    const auto stream = stub->Attach(&context);
    v1::FromDaemon message;
    rpc::ToProto(schedule::Register{.node = Announcement()}, &message);
    stream->Write(message);
    status = stream->Finish();
    queue.Post([&] { ended = true; });
  });
  while (!ended) queue.RunUntil(absl::InfiniteFuture());
  late.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(events.heard, 0);
  server->Shutdown();
  server->Wait();
  queue.RunUntil(absl::InfinitePast());
}

// --- Turns of the planner's thread ---

// SlowPlanMaker takes a given time for each team.
class SlowPlanMaker : public coordinator::FakePlanMaker {
 public:
  explicit SlowPlanMaker(absl::Duration takes) : takes_(takes) {}
  absl::StatusOr<std::vector<schedule::Plan>> MakePlans(const schedule::TeamLayout& layout,
                                                        const coordinator::PlanOptions& options) override {
    if (layout.identity.name == "quick") return FakePlanMaker::MakePlans(layout, options);
    if (meanwhile) meanwhile();
    absl::SleepFor(takes_);  // tidy: allow(sleep) because planning takes that long here
    return FakePlanMaker::MakePlans(layout, options);
  }

  std::function<void()> meanwhile;

 private:
  const absl::Duration takes_;
};

// Watchdog receives the notifications for systemd, with a watchdog of 2 s.
class Watchdog {
 public:
  Watchdog() {
    const std::string name = absl::StrCat("copse_planner_notify_", getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name.data(), name.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
              0);
    setenv("NOTIFY_SOCKET", absl::StrCat("@", name).c_str(), 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    setenv("WATCHDOG_PID", absl::StrCat(getpid()).c_str(), 1);
  }
  ~Watchdog() {
    unsetenv("NOTIFY_SOCKET");
    close(socket_);
  }
  // Counts WATCHDOG=1 since the last call.
  int Pings() {
    int pings = 0;
    char text[512];
    ssize_t bytes = 0;
    while ((bytes = recv(socket_, text, sizeof(text), MSG_DONTWAIT)) > 0) {
      if (std::string(text, static_cast<size_t>(bytes)) == "WATCHDOG=1") ++pings;
    }
    return pings;
  }

 private:
  const int socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST(PlannerProcessTest, TeamsThatCompleteAtOnceDoNotKeepItFromTheWatchdog) {
  constexpr int kTeams = 20;
  Watchdog watchdog;
  SlowPlanMaker plan_maker(absl::Milliseconds(250));
  Life life({}, &plan_maker);
  PlayedDaemon daemon(life);
  daemon.Register();
  watchdog.Pings();
  // The joins arrive while the first team is planned, so all are pending together.
  for (int i = 0; i < kTeams; ++i) daemon.Send(Alone(1 + i, absl::StrCat("t", i)));
  for (int i = 0; i < kTeams; ++i) daemon.Await<schedule::Prepare>();
  // Planning takes 5 s: one ping for each third of the watchdog's time.
  EXPECT_GE(watchdog.Pings(), 4);
}

TEST(PlannerProcessTest, WhatCameBeforeADeadlineCounts) {
  SlowPlanMaker plan_maker(absl::Milliseconds(1500));
  Life life({"prepare_timeout=500ms"}, &plan_maker);
  PlayedDaemon daemon(life);
  daemon.Register();
  daemon.Send(Alone(1, "quick"));
  const auto prepare = daemon.Await<schedule::Prepare>();
  // The answer arrives while another team is planned, which takes longer than the answer's deadline.
  std::promise<void> planning;
  plan_maker.meanwhile = [&] { planning.set_value(); };
  daemon.Send(Alone(2, "slow"));
  planning.get_future().wait();
  daemon.Send(schedule::PrepareReply{.team = prepare.layout.id, .epoch = prepare.epoch, .accepted = true});
  EXPECT_EQ(daemon.Await<schedule::Prepare>().layout.identity.name, "slow");
  EXPECT_EQ(daemon.Await<schedule::Commit>().team, prepare.layout.id);
}

// --- Topologies ---

constexpr char kTopology[] = "version: 1\nswitches: [{name: core}]\nnodes: [{name: \"n[0-3]\", switch: core}]\n";

// Returns the same topology with another overhead.
std::string TopologyWith(int overhead_us) {
  return absl::StrCat("version: 1\nswitches: [{name: core}]\nnodes: [{name: \"n[0-3]\", switch: core, overhead: ",
                      overhead_us, "us}]\n");
}

struct Imported {
  grpc::Status status;
  v1::ImportTopologyReply reply;
};

Imported Import(const Life& life, const v1::ImportTopologyRequest& request) {
  Imported imported;
  imported.status = Ask(life, &v1::AdminService::Stub::ImportTopology, request, &imported.reply);
  return imported;
}

Imported Import(const Life& life, const std::string& text, const std::string& format = "", bool dry_run = false) {
  v1::ImportTopologyRequest request;
  request.set_dry_run(dry_run);
  request.mutable_source()->set_file("the file");
  request.mutable_source()->set_text(text);
  request.mutable_source()->set_format(format);
  return Import(life, request);
}

Imported ImportVersion(const Life& life, uint64_t version) {
  v1::ImportTopologyRequest request;
  request.mutable_source()->set_version(version);
  return Import(life, request);
}

std::vector<v1::TopologyVersionRow> Versions(const Life& life) {
  const v1::ListTopologiesReply reply = List(life, &v1::AdminService::Stub::ListTopologies);
  return {reply.versions().begin(), reply.versions().end()};
}

std::string Export(const Life& life, const std::string& format = "", uint64_t version = 0) {
  v1::ExportTopologyRequest request;
  request.set_format(format);
  request.mutable_source()->set_version(version);
  v1::ExportTopologyReply reply;
  const grpc::Status status = Ask(life, &v1::AdminService::Stub::ExportTopology, request, &reply);
  return status.ok() ? reply.text() : status.error_message();
}

// Sends SIGHUP until there are so many versions.
void ReloadUntil(const Life& life, size_t versions) {
  kill(getpid(), SIGHUP);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (Versions(life).size() < versions && absl::Now() < deadline) {
  }
  ASSERT_EQ(Versions(life).size(), versions);
}

TEST(PlannerProcessTest, RulesThatChangedSwitchTheTeamsThatTheyConcern) {
  const std::string rules = TestFile("rules.yaml");
  const auto write = [&](const std::string& text) { std::ofstream(rules) << "version: 1\n" << text; };
  write("");
  Life life("", "", rules);
  PlayedDaemon daemon(life);
  daemon.Register();
  daemon.Send(Alone(5, "alone"));
  // Takes part in a switch; returns the algorithm of broadcasts.
  const auto switch_over = [&](uint32_t epoch) {
    const auto prepare = daemon.RunEpoch();
    EXPECT_EQ(prepare.epoch, EpochId(epoch));
    std::string algorithm;
    for (const std::string& encoded : prepare.plans) {
      const auto plan = schedule::DecodePlan(encoded);
      EXPECT_TRUE(plan.ok()) << plan.status();
      if (plan.ok() && plan->collective == Collective::kBcast) algorithm = plan->algorithm;
    }
    return algorithm;
  };
  const auto await_epoch = [&](uint32_t epoch) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    const auto runs = [&] {
      const v1::ListTeamsReply teams = Teams(life);
      return teams.teams_size() == 1 && teams.teams(0).state() == "ready" && teams.teams(0).epoch() == epoch;
    };
    while (!runs() && absl::Now() < deadline) {
    }
    EXPECT_TRUE(runs());
  };
  EXPECT_EQ(switch_over(1), "flat");
  await_epoch(1);
  write("rules: [{collective: bcast, algorithm: bt}]\n");
  kill(getpid(), SIGHUP);
  EXPECT_EQ(switch_over(2), "bt");
  await_epoch(2);
  // Rules for other teams, and a file that is refused, switch nothing: the next epoch is that of the last file.
  write("rules: [{collective: bcast, algorithm: bt}, {collective: reduce, ranks_min: 2, algorithm: bt}]\n");
  kill(getpid(), SIGHUP);
  EXPECT_EQ(Versions(life).size(), 0u);
  write("rules: [{collective: bcast, algorithm: ft}, {collective: bcast, algorithm: bt}]\n");
  kill(getpid(), SIGHUP);
  EXPECT_EQ(Versions(life).size(), 0u);
  write("rules: [{collective: bcast, algorithm: chain}]\n");
  kill(getpid(), SIGHUP);
  EXPECT_EQ(switch_over(3), "chain");
}

TEST(PlannerProcessTest, AnImportOutlivesThePlanner) {
  const std::string state = TestFile("state");
  {
    Life life(state);
    EXPECT_THAT(Export(life), Names("topology", "source=in force"));
    const Imported imported = Import(life, "SwitchName=s LinkSpeed=2 Nodes=n[0-3]\n");
    ASSERT_TRUE(imported.status.ok()) << imported.status.error_message();
    EXPECT_EQ(imported.reply.version(), 1u);
    EXPECT_TRUE(imported.reply.changed());
    EXPECT_EQ(imported.reply.changes_size(), 2);
    EXPECT_EQ(imported.reply.changes(1).names(), "n[0-3]");
    ASSERT_EQ(imported.reply.notes_size(), 1);
    EXPECT_THAT(imported.reply.notes(0), Names("count=4", "nodes=n[0-3]"));
    // A repeated import makes no new version.
    EXPECT_FALSE(Import(life, "SwitchName=s LinkSpeed=2 Nodes=n[0-3]\n", "slurm").reply.changed());
    EXPECT_EQ(Import(life, TopologyWith(3)).reply.version(), 2u);
  }
  Life life(state);
  const auto versions = Versions(life);
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0].source(), "import slurm the file");
  EXPECT_FALSE(versions[0].in_force());
  EXPECT_EQ(versions[1].source(), "import yaml the file");
  EXPECT_TRUE(versions[1].in_force());
  EXPECT_EQ(versions[1].applied().size(), std::string("2024-01-01T00:00:00Z").size()) << versions[1].applied();
  EXPECT_NE(Export(life).find("name: \"n[0-3]\", switch: \"core\", overhead: 3000ns"), std::string::npos);
  EXPECT_EQ(Export(life, "slurm", 1), "SwitchName=s LinkSpeed=2 Nodes=n[0-3]\n");
  // The first version is restored as a new version.
  EXPECT_EQ(ImportVersion(life, 1).reply.version(), 3u);
  EXPECT_EQ(Versions(life).back().source(), "version 1");
  EXPECT_EQ(Export(life), Export(life, "yaml", 1));
}

TEST(PlannerProcessTest, AFileThatChangedTakesThePlaceOfAnImport) {
  const std::string state = TestFile("state"), file = TestFile("topology.yaml");
  std::ofstream(file) << kTopology;
  {
    Life life(state, file);
    ASSERT_EQ(Versions(life).size(), 1u);
    EXPECT_EQ(Versions(life)[0].source(), "file " + file);
    EXPECT_EQ(Import(life, TopologyWith(3)).reply.version(), 2u);
    // An equivalent text, and one that cannot be read, make no version and no change.
    std::ofstream(file) << "# a comment\n" << kTopology;
    kill(getpid(), SIGHUP);
    EXPECT_EQ(Versions(life).size(), 2u);
    std::ofstream(file) << "version: 1\n";
    kill(getpid(), SIGHUP);
    EXPECT_EQ(Versions(life).size(), 2u);
    std::ofstream(file) << TopologyWith(4);
    ReloadUntil(life, 3);
    EXPECT_NE(Export(life).find("overhead: 4000ns"), std::string::npos);
    EXPECT_EQ(Import(life, TopologyWith(5)).reply.version(), 4u);
  }
  {
    Life life(state, file);
    EXPECT_EQ(Versions(life).size(), 4u) << "an unchanged file is no version";
    EXPECT_NE(Export(life).find("overhead: 5000ns"), std::string::npos);
  }
  // Removing the file from the configuration is a change as well.
  Life life(state);
  ASSERT_EQ(Versions(life).size(), 5u);
  EXPECT_EQ(Versions(life)[4].source(), "no file");
  EXPECT_THAT(Export(life), Names("topology", "source=in force"));
}

TEST(PlannerProcessTest, ADryRunAndABadTextChangeNothing) {
  Life life("");
  const Imported dry = Import(life, kTopology, "yaml", true);
  EXPECT_TRUE(dry.status.ok());
  EXPECT_EQ(dry.reply.version(), 0u);
  EXPECT_TRUE(dry.reply.changed());
  EXPECT_EQ(dry.reply.changes_size(), 2);
  const auto expect_refusal = [&](const Imported& imported, grpc::StatusCode code, const auto& things) {
    EXPECT_EQ(imported.status.error_code(), code);
    EXPECT_THAT(imported.status.error_message(), things);
  };
  using grpc::StatusCode;
  expect_refusal(Import(life, "version: 1\nnodes: []\n"), StatusCode::INVALID_ARGUMENT,
                 Names("file:1", "switches", "key=switches"));
  expect_refusal(Import(life, "\nSwitchName=a Switches=a\n"), StatusCode::INVALID_ARGUMENT,
                 Names("file:2", "switch a", "parent=a"));
  expect_refusal(Import(life, "x", "json"), StatusCode::INVALID_ARGUMENT, Names("format=json", "known=yaml slurm"));
  expect_refusal(ImportVersion(life, 7), StatusCode::NOT_FOUND, Names("topology", "version=7"));
  EXPECT_EQ(Versions(life).size(), 0u);
  EXPECT_THAT(Export(life, "xml"), Names("format=xml", "known=yaml slurm"));
}

TEST(PlannerProcessTest, HardwareOfNodesGoesIntoTheTopology) {
  Life life("");
  const auto import = [&](const std::string& nodes, uint32_t cores) {
    v1::ImportTopologyRequest request;
    request.mutable_source()->set_file("n.xml");
    request.mutable_source()->mutable_hardware()->set_nodes(nodes);
    request.mutable_source()->mutable_hardware()->set_cores(cores);
    return Import(life, request);
  };
  EXPECT_THAT(import("n0", 4).status.error_message(), Names("n.xml", "nodes=n0"));
  ASSERT_TRUE(Import(life, kTopology).status.ok());
  const Imported imported = import("n[1-2]", 4);
  EXPECT_TRUE(imported.status.ok()) << imported.status.error_message();
  ASSERT_EQ(imported.reply.changes_size(), 1);
  EXPECT_EQ(imported.reply.changes(0).names(), "n[1-2]");
  EXPECT_EQ(imported.reply.changes(0).key(), "cores");
  EXPECT_EQ(imported.reply.notes(0), "n.xml: packages 0, NUMA domains 0, cores 4, threads 0");
  EXPECT_EQ(Versions(life).back().source(), "import hwloc n.xml for n[1-2]");
  EXPECT_THAT(import("n[3-4]", 4).status.error_message(), Names("node n4", "nodes=n[3-4]"));
  EXPECT_EQ(import("n[3-4", 4).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(import("", 4).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(import("n[0-10000000]", 4).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(import("n1", 0).status.error_message(), Names("n.xml", "cores=0", "limit=1-65536"));
}

TEST(PlannerProcessTest, OldVersionsGoButTheFilesStays) {
  const std::string file = TestFile("topology.yaml");
  std::ofstream(file) << kTopology;
  Life life("", file);
  for (int i = 0; i < 70; ++i) ASSERT_EQ(Import(life, TopologyWith(10 + i)).reply.version(), 2u + i);
  const auto versions = Versions(life);
  ASSERT_EQ(versions.size(), kTopologyVersionsMax);
  EXPECT_EQ(versions[0].version(), 1u);
  EXPECT_EQ(versions[1].version(), 9u);
  EXPECT_EQ(versions.back().version(), 71u);
}

TEST(PlannerProcessTest, ATopologyReplansTheTeamsItConcerns) {
  Life life("");
  ASSERT_TRUE(Import(life, kTopology).status.ok());
  PlayedDaemon daemon(life);
  daemon.Register();
  daemon.Send(Alone(5, "alone"));
  const auto prepare = daemon.RunEpoch();

  // Another node's figures do not concern the team.
  const Imported other =
      Import(life,
             "version: 1\nswitches: [{name: core}]\nnodes: [{name: n0, switch: core}, {name: \"n[1-3]\", switch: core, "
             "cores: 2}]\n");
  EXPECT_TRUE(other.reply.changed());
  EXPECT_EQ(other.reply.replanned_size(), 0);

  Imported own;
  std::thread importing([&] { own = Import(life, TopologyWith(9)); });
  EXPECT_EQ(daemon.RunEpoch().epoch.value(), 2u);
  importing.join();
  EXPECT_TRUE(own.status.ok()) << own.status.error_message();
  ASSERT_EQ(own.reply.replanned_size(), 1);
  EXPECT_EQ(own.reply.replanned(0), prepare.layout.id.value());

  // A refusal is reported; the topology is in force nevertheless.
  std::thread refused([&] { own = Import(life, TopologyWith(10)); });
  const auto third = daemon.Await<schedule::Prepare>();
  daemon.Send(schedule::PrepareReply{.team = third.layout.id,
                                     .epoch = third.epoch,
                                     .accepted = false,
                                     .why = {schedule::Failure::kNoResource, "no memory"}});
  refused.join();
  EXPECT_TRUE(own.status.ok()) << own.status.error_message();
  ASSERT_EQ(own.reply.not_replanned_size(), 1);
  EXPECT_NE(own.reply.not_replanned(0).why().find("no memory"), std::string::npos) << own.reply.not_replanned(0).why();
  EXPECT_EQ(Versions(life).size(), 4u);
}

}  // namespace
}  // namespace copse::planner

int main(int argc, char** argv) {
  copse::planner::BlockSignals();  // before gRPC starts threads
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
