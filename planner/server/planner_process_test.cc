// SPDX-License-Identifier: Apache-2.0
//
// The planner's process: what daemons and administrators see of its start, its work and its end.
#include "planner/server/planner_process.h"

#include <grpcpp/client_context.h>
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
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "planner/coordinator/testing/fake_plan_maker.h"
#include "planner/server/testing/planner_life.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/authorizer.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::Names;

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
    EXPECT_EQ(Counters(life).count("store.free_bytes"), store.empty() ? 0u : 1u);
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
  EXPECT_EQ(counters.at("certificates.end_soon"), 0u);
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

TEST(PlannerProcessTest, SaysThatItIsInsecure) {
  for (const char* setting : {"insecure=true", "insecure=false"}) {
    ::testing::internal::CaptureStderr();
    {
      Life life({setting}, nullptr);
      List(life, &v1::AdminService::Stub::ListNodes);
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("insecure: true") != std::string::npos, std::string(setting) == "insecure=true") << said;
  }
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
    bool Admits(coordinator::SessionId, const schedule::NodeAnnouncement&) override { return ++heard != 0; }
    void OnMessage(coordinator::SessionId, const schedule::FromDaemon&) override { ++heard; }
    void OnDisconnected(coordinator::SessionId) override { ++heard; }
    int heard = 0;
  } events;
  const MonotonicClock clock;
  TaskQueue queue(&clock);
  const rpc::Authorizer authorizer;
  DaemonService service(&queue, &events, &authorizer);
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

// A TeamOfDaemons is a team with a rank on each of its nodes n0, n1, ...
class TeamOfDaemons {
 public:
  TeamOfDaemons(const Life& life, uint32_t nodes) {
    for (uint32_t v = 0; v < nodes; ++v) {
      daemons_.push_back(std::make_unique<PlayedDaemon>(life));
      daemons_[v]->Register(absl::StrCat("n", v), {}, {schedule::Feature::kPlanCalls});
    }
  }
  void Join() {
    for (uint32_t v = 0; v < daemons_.size(); ++v) {
      daemons_[v]->Send(schedule::JoinTeam{.request = 1,
                                           .identity = {.uid = 1, .name = "t"},
                                           .rank = Rank(v),
                                           .size = static_cast<uint32_t>(daemons_.size())});
    }
  }
  // All take part in the team's next epoch.
  schedule::Prepare RunEpoch() {
    schedule::Prepare prepare;
    for (uint32_t v = 0; v < daemons_.size(); ++v) {
      prepare = daemons_[v]->Await<schedule::Prepare>();
      schedule::PrepareReply reply{.team = prepare.layout.id, .epoch = prepare.epoch, .accepted = true};
      for (uint32_t other = 0; other < daemons_.size(); ++other) {
        if (other != v) reply.incoming.push_back({NodeIndex(other), 1 + other});
      }
      daemons_[v]->Send(reply);
    }
    for (const auto& daemon : daemons_) {
      EXPECT_EQ(daemon->Await<schedule::Commit>().epoch, prepare.epoch);
      daemon->Send(schedule::CommitReply{.team = prepare.layout.id, .epoch = prepare.epoch});
    }
    return prepare;
  }
  // The first daemon is asked for the team's calls, and has begun so many by each plan.
  void AnswerCalls(const schedule::Prepare& prepare, uint64_t calls) {
    const auto query = daemons_[0]->Await<schedule::StatusQuery>();
    EXPECT_EQ(query.calls_of, prepare.layout.id);
    schedule::StatusReply reply{.query = query.query, .status = {.node = "n0"}};
    for (const std::string& plan : prepare.plans) reply.status.plan_calls.push_back({schedule::PlanIdIn(plan), calls});
    daemons_[0]->Send(reply);
  }

 private:
  std::vector<std::unique_ptr<PlayedDaemon>> daemons_;
};

std::vector<schedule::Plan> PlansIn(const schedule::Prepare& prepare) {
  std::vector<schedule::Plan> plans;
  for (const std::string& encoded : prepare.plans) plans.push_back(schedule::DecodePlan(encoded).value());
  return plans;
}

TEST(PlannerProcessTest, ATeamBeginsWithQuickPlansAndGetsBetterOnesOnceItsCallsRepayThem) {
  Life life("");
  TeamOfDaemons team(life, 80);
  team.Join();
  const auto first = team.RunEpoch();
  for (const schedule::Plan& plan : PlansIn(first)) EXPECT_EQ(plan.predicted_us, 0);
  EXPECT_EQ(Counters(life)["plans.sets_quick"], 1u);
  team.AnswerCalls(first, 1);
  team.AnswerCalls(first, 1'000'000);
  const auto second = team.RunEpoch();
  EXPECT_EQ(second.epoch, EpochId(2));
  for (const schedule::Plan& plan : PlansIn(second)) EXPECT_GT(plan.predicted_us, 0);
  EXPECT_EQ(Counters(life)["plans.sets_made"], 1u);
}

}  // namespace
}  // namespace copse::planner
