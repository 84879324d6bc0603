// SPDX-License-Identifier: Apache-2.0
//
// The planner with certificates and sockets: who may do what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "planner/server/testing/planner_life.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/daemon_service.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/identity.h"
#include "rpc/status.h"
#include "rpc/testing/identity_files.h"
#include "rpc/testing/method_calls.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;
using ::testing::Pair;
using Stub = v1::AdminService::Stub;

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr auto kUnauthenticated = absl::StatusCode::kUnauthenticated;

// A stream of a daemon with credentials of its own.
class Daemon {
 public:
  static constexpr Incarnation kIncarnation{0x0000'0001'0000'0770};

  Daemon(const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : stub_(v1::DaemonService::NewStub(grpc::CreateChannel(address, credentials))),
        stream_(stub_->Attach(&context_)) {}
  ~Daemon() { context_.TryCancel(); }

  // Returns OK if the planner has accepted the node, else why not.
  absl::Status Register(const std::string& name, const schedule::Features& features = {}) {
    schedule::NodeAnnouncement announcement = Announcement(name);
    announcement.incarnation = kIncarnation;
    announcement.features = features;
    Send(schedule::Register{.node = announcement});
    v1::ToDaemon reply;
    if (!stream_->Read(&reply)) return rpc::FromGrpc(stream_->Finish());
    EXPECT_TRUE(reply.registered().accepted()) << reply.ShortDebugString();
    return absl::OkStatus();
  }
  // Forms a team of one rank here.
  TeamId Form(uint32_t uid, const std::string& name, const std::string& job) {
    schedule::JoinTeam join = Alone(++requests_, name);
    join.identity.uid = uid;
    join.identity.job = job;
    Send(join);
    v1::ToDaemon message;
    EXPECT_TRUE(stream_->Read(&message));
    EXPECT_TRUE(message.has_prepare()) << message.ShortDebugString();
    const TeamId team(message.prepare().layout().id());
    const EpochId epoch(message.prepare().epoch());
    Send(schedule::PrepareReply{.team = team, .epoch = epoch, .accepted = true});
    EXPECT_TRUE(stream_->Read(&message));
    EXPECT_TRUE(message.has_commit()) << message.ShortDebugString();
    Send(schedule::CommitReply{.team = team, .epoch = epoch});
    return team;
  }
  // Awaits the next question about its status, and returns its number.
  uint64_t AwaitStatusQuery() {
    v1::ToDaemon message;
    EXPECT_TRUE(stream_->Read(&message));
    EXPECT_TRUE(message.has_status_query()) << message.ShortDebugString();
    return message.status_query().query();
  }
  void Answer(const schedule::DaemonStatus& status) {
    Send(schedule::StatusReply{.query = AwaitStatusQuery(), .status = status});
  }
  // Answers the next question about its trace, and returns the user to whom its answer may go.
  std::optional<uint32_t> AnswerTrace() {
    v1::ToDaemon message;
    EXPECT_TRUE(stream_->Read(&message));
    EXPECT_TRUE(message.has_trace_query()) << message.ShortDebugString();
    Send(schedule::TraceReply{.query = message.trace_query().query(), .next = 9, .end = 8});
    return message.trace_query().has_owner() ? std::optional(message.trace_query().owner()) : std::nullopt;
  }
  absl::Status AwaitEnd() {
    v1::ToDaemon message;
    while (stream_->Read(&message)) continue;
    return rpc::FromGrpc(stream_->Finish());
  }

 private:
  void Send(const schedule::FromDaemon& message) {
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    EXPECT_TRUE(stream_->Write(proto));
  }

  uint64_t requests_ = 0;
  grpc::ClientContext context_;
  std::unique_ptr<v1::DaemonService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::FromDaemon, v1::ToDaemon>> stream_;
};

class PlannerTlsTest : public ::testing::Test {
 protected:
  PlannerTlsTest() { EXPECT_NE(mkdtemp(run_dir_), nullptr); }
  ~PlannerTlsTest() override {
    life_.reset();
    std::filesystem::remove_all(run_dir_);
  }

  void Start(std::vector<std::string> settings = {}) {
    const config::TlsFiles files = rpc::WriteRole(authority_, "planner", "p0");
    revoked_ = absl::StrCat(run_dir_, "/revoked");
    std::filesystem::create_directory(revoked_);
    rpc::WriteSecretFile(revoked_ + "/list.pem", authority_.Revoke({}));
    for (const std::string& setting :
         {"tls_cert=" + files.certificate, "tls_key=" + files.key, "tls_ca=" + files.authorities,
          "tls_crl_dir=" + revoked_, "run_dir=" + std::string(run_dir_)}) {
      settings.push_back(setting);
    }
    life_ = std::make_unique<Life>(settings, nullptr);
  }
  std::shared_ptr<grpc::ChannelCredentials> Of(const config::TlsFiles& files) {
    auto identity = rpc::Identity::Open(files, {});
    EXPECT_TRUE(identity.ok()) << identity.status();
    return *rpc::CredentialsFactory({.identity = *identity}).Channel(life_->address());
  }
  std::shared_ptr<grpc::ChannelCredentials> Of(const std::string& role, const std::string& name) {
    return Of(rpc::WriteRole(authority_, role, name));
  }
  template <typename Request, typename Reply>
  absl::Status Call(const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*), const Request& request,
                    Reply* reply) {
    grpc::ClientContext context;
    const auto stub = v1::AdminService::NewStub(grpc::CreateChannel(address, credentials));
    return rpc::FromGrpc((stub.get()->*method)(&context, request, reply));
  }
  absl::Status Drain(const std::string& role, const std::string& user) {
    v1::DrainNodeRequest request;
    request.set_node("n1");
    v1::DrainNodeReply reply;
    return Call(life_->address(), Of(role, user), &Stub::DrainNode, request, &reply);
  }
  absl::Status Break(TeamId team) {
    v1::BreakTeamRequest request;
    request.set_team(team.value());
    v1::BreakTeamReply reply;
    return Call(Socket("view"), grpc::InsecureChannelCredentials(), &Stub::BreakTeam, request, &reply);
  }
  std::string Socket(const std::string& name) const { return absl::StrCat("unix:", run_dir_, "/", name, ".sock"); }

  const emu::TestAuthority authority_;
  char run_dir_[32] = "/tmp/copse-plannerXXXXXX";
  std::string revoked_;
  std::unique_ptr<Life> life_;
};

TEST_F(PlannerTlsTest, ANodeRegistersUnderItsOwnNameAlone) {
  Start();
  Daemon own(life_->address(), Of("node", "n1"));
  EXPECT_EQ(own.Register("n1"), absl::OkStatus());
  EXPECT_THAT(Daemon(life_->address(), Of("node", "n1")).Register("n2"),
              FailsWith(kDenied, "node n2: ", "certificate=spiffe://test/node/n1", "wanted=spiffe://test/node/n2"));
  EXPECT_THAT(Daemon(life_->address(), Of("operator", "alice")).AwaitEnd(),
              FailsWith(kDenied, "operator/alice", "Attach", "wanted=node"));
  v1::ListNodesReply nodes;
  EXPECT_THAT(Call(life_->address(), Of("node", "n1"), &Stub::ListNodes, {}, &nodes),
              FailsWith(kDenied, "node/n1", "ListNodes", "wanted=viewer"));
  ASSERT_EQ(Call(life_->address(), Of("viewer", "bob"), &Stub::ListNodes, {}, &nodes), absl::OkStatus());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_GT(nodes.nodes(0).certificate_ends_s(), 0);
  EXPECT_LT(nodes.nodes(0).certificate_ends_s(), 24 * 3600 + 1);
  v1::GetPlannerStatsReply stats;
  ASSERT_EQ(Call(life_->address(), Of("viewer", "bob"), &Stub::GetPlannerStats, {}, &stats), absl::OkStatus());
  EXPECT_EQ(stats.counters().at("certificates.end_soon"), 1u);
}

TEST_F(PlannerTlsTest, ChangesAreRecordedWithTheirAuthors) {
  Start();
  Daemon daemon(life_->address(), Of("node", "n1"));
  ASSERT_EQ(daemon.Register("n1"), absl::OkStatus());
  EXPECT_THAT(Drain("viewer", "bob"), FailsWith(kDenied, "viewer/bob", "role=viewer", "wanted=operator"));
  EXPECT_EQ(Drain("operator", "alice"), absl::OkStatus());
  v1::RemoveNodeRequest remove;
  remove.set_node("n9");
  v1::RemoveNodeReply removed;
  EXPECT_EQ(Call(life_->address(), Of("administrator", "eve"), &Stub::RemoveNode, remove, &removed).code(),
            absl::StatusCode::kNotFound);
  v1::ListAuditReply audit;
  EXPECT_EQ(Call(life_->address(), Of("viewer", "bob"), &Stub::ListAudit, {}, &audit).code(), kDenied);
  ASSERT_EQ(Call(Socket("admin"), grpc::InsecureChannelCredentials(), &Stub::ListAudit, {}, &audit), absl::OkStatus());
  ASSERT_EQ(audit.rows_size(), 2) << audit.ShortDebugString();
  EXPECT_EQ(audit.rows(0).who(), "operator/alice");
  EXPECT_EQ(audit.rows(0).method(), "DrainNode");
  EXPECT_EQ(audit.rows(0).request(), "node: \"n1\"");
  EXPECT_EQ(audit.rows(0).result(), "OK");
  EXPECT_TRUE(audit.rows(0).from().starts_with("ipv4:127.0.0.1:"));
  EXPECT_EQ(audit.rows(1).who(), "administrator/eve");
  EXPECT_TRUE(audit.rows(1).result().starts_with("NOT_FOUND")) << audit.rows(1).result();
}

TEST_F(PlannerTlsTest, AReloadIsRecordedWithTheUserWhoAskedForIt) {
  Start();
  kill(getpid(), SIGHUP);
  v1::ListAuditReply audit;
  while (audit.rows_size() == 0) {
    ASSERT_EQ(Call(Socket("admin"), grpc::InsecureChannelCredentials(), &Stub::ListAudit, {}, &audit),
              absl::OkStatus());
  }
  EXPECT_EQ(audit.rows(0).who(), absl::StrCat("uid ", getuid()));
  EXPECT_EQ(audit.rows(0).from(), absl::StrCat("pid ", getpid()));
  EXPECT_EQ(audit.rows(0).method(), "SIGHUP");
  EXPECT_EQ(audit.rows(0).result(), "OK");
}

// Callers whose certificates prove nothing: no method is for them, nor for whoever may look.
TEST_F(PlannerTlsTest, NoMethodIsForACertificateThatIsNotBelieved) {
  Start();
  rpc::WriteSecretFile(revoked_ + "/list.pem", authority_.Revoke({66}));
  kill(getpid(), SIGHUP);
  const auto shown = [&](const emu::TestCertificateOptions& options) {
    return rpc::ChannelOfItsOwn(life_->address(),
                                rpc::CarelessCredentials(rpc::WriteIdentity(authority_, "unbelieved", options)));
  };
  const auto revoked = shown({.uri = "spiffe://test/administrator/x", .serial = 66});
  while (rpc::CallEmpty(revoked, "/copse.v1.AdminService/Ping").ok()) continue;  // until the list is read
  for (const auto& channel : {revoked, shown({.uri = "spiffe://test/administrator/x", .days = -1}),
                              shown({.uri = "spiffe://elsewhere/administrator/x"}), shown({})}) {
    for (const std::string& method : rpc::MethodsOfServices()) {
      if (absl::StartsWith(method, "/copse.v1.NodeAdminService/")) continue;  // a daemon's
      EXPECT_EQ(rpc::CallEmpty(channel, method).code(), kUnauthenticated) << method;
    }
  }
}

TEST_F(PlannerTlsTest, ARevokedNodesStreamEnds) {
  Start();
  Daemon good(life_->address(), Of("node", "n1"));
  ASSERT_EQ(good.Register("n1"), absl::OkStatus());
  Daemon bad(life_->address(),
             Of(rpc::WriteIdentity(authority_, "bad", {.uri = "spiffe://test/node/n2", .serial = 66})));
  ASSERT_EQ(bad.Register("n2"), absl::OkStatus());
  const auto stub = v1::DaemonService::NewStub(grpc::CreateChannel(
      life_->address(), Of(rpc::WriteIdentity(authority_, "bad", {.uri = "spiffe://test/node/n2", .serial = 66}))));
  grpc::ClientContext context;
  const auto watch = stub->WatchLeader(&context, {});
  v1::Leader leader;
  ASSERT_TRUE(watch->Read(&leader));
  rpc::WriteSecretFile(revoked_ + "/list.pem", authority_.Revoke({66}));
  kill(getpid(), SIGHUP);  // otherwise it is seen within 10 s
  EXPECT_THAT(bad.AwaitEnd(), FailsWith(kUnauthenticated, "spiffe://test/node/n2", "is revoked"));
  EXPECT_FALSE(watch->Read(&leader));
  EXPECT_THAT(rpc::FromGrpc(watch->Finish()), FailsWith(kUnauthenticated, "spiffe://test/node/n2", "is revoked"));
  EXPECT_NE(good.Form(1, "team", "job"), TeamId(0)) << "the other stream goes on";
}

TEST_F(PlannerTlsTest, AStreamOutlivesItsCertificate) {
  Start();
  const absl::Time ends = absl::Now() + absl::Seconds(3);
  Daemon brief(life_->address(),
               Of(rpc::WriteIdentity(authority_, "brief", {.uri = "spiffe://test/node/n1", .seconds = 2})));
  ASSERT_EQ(brief.Register("n1"), absl::OkStatus());
  Daemon bad(life_->address(),
             Of(rpc::WriteIdentity(authority_, "bad", {.uri = "spiffe://test/node/n2", .serial = 66})));
  ASSERT_EQ(bad.Register("n2"), absl::OkStatus());
  for (int team = 0; absl::Now() < ends; ++team) {
    ASSERT_NE(brief.Form(1, absl::StrCat("team ", team), "job"), TeamId(0));
  }
  rpc::WriteSecretFile(revoked_ + "/list.pem", authority_.Revoke({66}));
  kill(getpid(), SIGHUP);
  EXPECT_THAT(bad.AwaitEnd(), FailsWith(kUnauthenticated, "spiffe://test/node/n2", "is revoked"));
  EXPECT_NE(brief.Form(1, "last", "job"), TeamId(0));
}

// A StrangerSocket is a connection to the planner that has no certificate.
UniqueFd StrangerSocket(const std::string& address) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  return fd;
}

TEST_F(PlannerTlsTest, WithoutACertificateThereIsNoConnection) {
  Start();
  v1::ListNodesReply nodes;
  const absl::Status refused = Call(life_->address(), rpc::CarelessCredentials({}), &Stub::ListNodes, {}, &nodes);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
}

TEST_F(PlannerTlsTest, ConnectionsThatSayNothingEndAndKeepNobodyOut) {
  Start({"node_timeout=500ms"});
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(StrangerSocket(life_->address()));
  // Some of them begin a TLS record of 255 bytes, and say no more.
  for (size_t i = 0; i < silent.size(); i += 2) {
    ASSERT_EQ(send(silent[i].get(), "\x16\x03\x01\x00\xff", 5, MSG_NOSIGNAL), 5);
  }
  v1::ListNodesReply nodes;
  EXPECT_EQ(Call(life_->address(), Of("viewer", "bob"), &Stub::ListNodes, {}, &nodes), absl::OkStatus());
  for (const UniqueFd& fd : silent) {
    pollfd event{fd.get(), POLLIN, 0};
    ASSERT_EQ(poll(&event, 1, 20'000), 1) << "the planner keeps the connection";
    char byte = 0;
    EXPECT_LE(recv(fd.get(), &byte, 1, 0), 0);
  }
}

TEST_F(PlannerTlsTest, BytesThatAreNoTlsEndTheirConnectionAlone) {
  Start();
  Prng prng(20261128);
  for (int i = 0; i < 200; ++i) {
    const UniqueFd fd = StrangerSocket(life_->address());
    std::string bytes(1 + prng.Below(600), '\0');
    for (char& byte : bytes) byte = static_cast<char>(prng.Below(256));
    if (i % 2 == 0)
      bytes.replace(0, std::min<size_t>(3, bytes.size()), "\x16\x03\x01", std::min<size_t>(3, bytes.size()));
    if (i % 3 == 0) bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes;
    (void)!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  v1::ListNodesReply nodes;
  EXPECT_EQ(Call(life_->address(), Of("viewer", "bob"), &Stub::ListNodes, {}, &nodes), absl::OkStatus());
}

TEST_F(PlannerTlsTest, LocalUsersSeeAndBreakTheirOwnTeams) {
  Start({"private_data=true"});
  auto daemon = std::make_unique<Daemon>(life_->address(), Of("node", "n1"));
  ASSERT_EQ(daemon->Register("n1"), absl::OkStatus());
  const TeamId own = daemon->Form(getuid(), "mine", "my job");
  const TeamId other = daemon->Form(getuid() + 1, "theirs", "their job");
  daemon.reset();  // lists would wait for its calls in flight
  v1::ListTeamsReply teams;
  ASSERT_EQ(Call(Socket("view"), grpc::InsecureChannelCredentials(), &Stub::ListTeams, {}, &teams), absl::OkStatus());
  ASSERT_EQ(teams.teams_size(), 2);
  for (const v1::TeamRow& row : teams.teams()) {
    const bool is_own = row.id() == own.value();
    EXPECT_EQ(row.name(), is_own ? "mine" : "");
    EXPECT_EQ(row.job(), is_own ? "my job" : "");
  }
  v1::ListTeamsRequest by_job;
  by_job.mutable_selector()->set_job("their job");
  v1::ListTeamsReply found;
  ASSERT_EQ(Call(Socket("view"), grpc::InsecureChannelCredentials(), &Stub::ListTeams, by_job, &found),
            absl::OkStatus());
  EXPECT_EQ(found.teams_size(), 0) << "a guessed job is not confirmed";
  ASSERT_EQ(Call(Socket("admin"), grpc::InsecureChannelCredentials(), &Stub::ListTeams, by_job, &found),
            absl::OkStatus());
  EXPECT_EQ(found.teams_size(), 1);
  v1::ListNodesReply nodes;
  ASSERT_EQ(Call(Socket("view"), grpc::InsecureChannelCredentials(), &Stub::ListNodes, {}, &nodes), absl::OkStatus());
  EXPECT_EQ(nodes.nodes(0).incarnation(), 0u);

  EXPECT_THAT(Break(other), FailsWith(kDenied, absl::StrCat("team ", other.value()), "another user's",
                                      absl::StrCat("who=uid ", getuid())));
  EXPECT_EQ(Break(own), absl::OkStatus());
}

TEST_F(PlannerTlsTest, LongRequestsAreForAdministrators) {
  Start();
  v1::DiffTopologyRequest request;
  v1::DiffTopologyReply reply;
  const auto ask = [&](const std::string& socket, size_t bytes) {
    request.mutable_after()->set_text(std::string(bytes, ' '));
    return Call(Socket(socket), grpc::InsecureChannelCredentials(), &Stub::DiffTopology, request, &reply).code();
  };
  EXPECT_EQ(ask("view", 1'000'000), absl::StatusCode::kOk);
  EXPECT_EQ(ask("view", 1'100'000), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ask("admin", 20'000'000), absl::StatusCode::kOk);
}

TEST_F(PlannerTlsTest, LocalUsersWhoWaitAreToldThatThePlannerStops) {
  Start();
  Daemon daemon(life_->address(), Of("node", "n1"));
  ASSERT_EQ(daemon.Register("n1"), absl::OkStatus());
  v1::PingRequest request;
  request.set_node("n1");
  std::vector<std::thread> waiting;
  for (const char* const socket : {"view", "admin"}) {
    waiting.emplace_back([&, socket] {
      v1::PingReply reply;
      EXPECT_THAT(Call(Socket(socket), grpc::InsecureChannelCredentials(), &Stub::Ping, request, &reply),
                  FailsWith(absl::StatusCode::kUnavailable, "the planner stops"));
    });
    daemon.AwaitStatusQuery();
  }
  life_->End();
  for (std::thread& each : waiting) each.join();
}

TEST_F(PlannerTlsTest, LocalUsersGetTheTraceOfTheirOwnTeams) {
  Start({"private_data=true"});
  Daemon daemon(life_->address(), Of("node", "n1"));
  ASSERT_EQ(daemon.Register("n1", {schedule::Feature::kOwnTrace}), absl::OkStatus());
  Daemon earlier(life_->address(), Of("node", "n2"));
  ASSERT_EQ(earlier.Register("n2"), absl::OkStatus());
  v1::GetTraceRequest request;
  request.set_node("n1");
  v1::GetTraceReply reply;
  const auto ask = [&](const std::string& socket) {
    return Call(Socket(socket), grpc::InsecureChannelCredentials(), &Stub::GetTrace, request, &reply);
  };
  EXPECT_THAT(ask("view"), FailsWith(kDenied, absl::StrCat("uid ", getuid()), "role=owner", "wanted=operator"))
      << "it would take records that are left out for records that are lost";
  request.set_takes_gaps(true);
  const auto owner_told_by = [&](const std::string& socket) {
    std::optional<uint32_t> owner;
    std::thread answer([&] { owner = daemon.AnswerTrace(); });
    EXPECT_EQ(ask(socket), absl::OkStatus());
    answer.join();
    EXPECT_EQ(reply.end(), 8u);
    return owner;
  };
  EXPECT_EQ(owner_told_by("view"), std::optional(getuid()));
  EXPECT_EQ(reply.incarnation(), 0x771u) << "the tag that records have";
  EXPECT_EQ(owner_told_by("admin"), std::nullopt);
  EXPECT_EQ(reply.incarnation(), Daemon::kIncarnation.value());
  EXPECT_THAT(Call(life_->address(), Of("viewer", "bob"), &Stub::GetTrace, request, &reply),
              FailsWith(kDenied, "viewer/bob", "wanted=owner"));
  request.set_node("n2");
  EXPECT_THAT(ask("view"), FailsWith(absl::StatusCode::kFailedPrecondition, "node n2", "version="));
}

TEST_F(PlannerTlsTest, LocalUsersSeeTheJobsOfTheirOwnAccounts) {
  Start({"private_data=true"});
  Daemon daemon(life_->address(), Of("node", "n1"));
  ASSERT_EQ(daemon.Register("n1"), absl::OkStatus());
  const auto jobs_at = [&](const std::string& socket) {
    schedule::DaemonStatus status{.node = "n1"};
    for (const uint32_t uid : {getuid(), getuid() + 1}) {
      status.accounts.push_back(
          {.uid = uid, .job = absl::StrCat("slurm-", uid), .claimed = {"mine"}, .holdings = {{"teams", 1, 4}}});
    }
    v1::GetStatsRequest request;
    request.set_accounts(true);
    v1::GetStatsReply reply;
    std::thread answer([&] { daemon.Answer(status); });
    EXPECT_EQ(Call(Socket(socket), grpc::InsecureChannelCredentials(), &Stub::GetStats, request, &reply),
              absl::OkStatus());
    answer.join();
    std::map<uint32_t, std::string> jobs;
    for (const v1::AccountRow& row : reply.stats(0).accounts()) {
      EXPECT_EQ(row.holdings(0).used(), 1u);
      EXPECT_EQ(row.claimed_size(), row.job().empty() ? 0 : 1);
      jobs[row.uid()] = row.job();
    }
    return jobs;
  };
  const std::string own = absl::StrCat("slurm-", getuid()), other = absl::StrCat("slurm-", getuid() + 1);
  EXPECT_THAT(jobs_at("view"), ElementsAre(Pair(getuid(), own), Pair(getuid() + 1, "")));
  EXPECT_THAT(jobs_at("admin"), ElementsAre(Pair(getuid(), own), Pair(getuid() + 1, other)));
}

}  // namespace
}  // namespace copse::planner
