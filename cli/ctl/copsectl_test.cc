// SPDX-License-Identifier: Apache-2.0
//
// Whole runs of copsectl against a fake server of the planner's services.
#include "cli/ctl/copsectl.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "cli/client/style.h"
#include "gmock/gmock.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/identity.h"

namespace copse::ctl {
namespace {

using testing::Names;

// The file is lstopo's for two cores.
constexpr char kMachine[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1"
          complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"
            gp_index="2" local_memory="1048576"/>
    <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
            gp_index="3">
      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"
              gp_index="4"/>
    </object>
    <object type="Core" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
            gp_index="5">
      <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1"
              gp_index="6"/>
    </object>
  </object>
</topology>
)";

class FakePlanner final : public v1::AdminService::Service {
 public:
  grpc::Status Ping(grpc::ServerContext*, const v1::PingRequest* request, v1::PingReply* reply) override {
    if (request->node() == "n9") return {grpc::StatusCode::NOT_FOUND, "node n9: not known"};
    if (request->node() == "n3") return {grpc::StatusCode::DEADLINE_EXCEEDED, "node n3: silent"};
    reply->set_ok(true);
    reply->set_version("0.1.0");
    return grpc::Status::OK;
  }
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*, v1::VersionReply* reply) override {
    reply->set_ok(true);
    reply->set_program("copse-planner");
    return grpc::Status::OK;
  }
  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*, v1::ListNodesReply* reply) override {
    v1::NodeRow* const node = reply->add_nodes();
    node->set_name("n1");
    if (stream_ends != absl::ZeroDuration()) node->set_certificate_ends_s(absl::ToDoubleSeconds(stream_ends));
    return grpc::Status::OK;
  }
  grpc::Status ShowNode(grpc::ServerContext*, const v1::ShowNodeRequest* request, v1::ShowNodeReply* reply) override {
    reply->mutable_node()->set_name(request->name());
    if (node_clients > 0) {
      reply->mutable_node()->set_connected(true);
      reply->set_answered(true);
      reply->set_clients(node_clients--);
    }
    return grpc::Status::OK;
  }
  grpc::Status DrainNode(grpc::ServerContext*, const v1::DrainNodeRequest* request, v1::DrainNodeReply*) override {
    last = absl::StrCat(request->node(), request->off() ? " undrained" : " drained");
    return grpc::Status::OK;
  }
  grpc::Status RemoveNode(grpc::ServerContext*, const v1::RemoveNodeRequest* request, v1::RemoveNodeReply*) override {
    last = absl::StrCat(request->node(), " removed");
    return grpc::Status::OK;
  }
  grpc::Status ListTeams(grpc::ServerContext*, const v1::ListTeamsRequest*, v1::ListTeamsReply* reply) override {
    for (const auto& [id, name] : {std::pair(3, "world"), {4, "twin"}, {5, "twin"}, {0, "young"}}) {
      auto* team = reply->add_teams();
      team->set_id(id);
      team->set_name(name);
      if (id == 3) team->set_job("77");
      team->set_state(id == 4 ? "broken" : "ready");
    }
    return grpc::Status::OK;
  }
  grpc::Status ShowTeam(grpc::ServerContext*, const v1::ShowTeamRequest* request, v1::ShowTeamReply* reply) override {
    reply->mutable_team()->set_id(request->id());
    return grpc::Status::OK;
  }
  grpc::Status ReplanTeam(grpc::ServerContext*, const v1::ReplanTeamRequest* request,
                          v1::ReplanTeamReply* reply) override {
    if (request->algorithm() == "bad") return {grpc::StatusCode::INVALID_ARGUMENT, "no such algorithm"};
    last = absl::StrCat("replan ", request->team(), " ", request->algorithm(), " ", request->collective());
    reply->set_epoch(2);
    return grpc::Status::OK;
  }
  grpc::Status BreakTeam(grpc::ServerContext*, const v1::BreakTeamRequest* request, v1::BreakTeamReply*) override {
    last = absl::StrCat("break ", request->team(), " ", request->why());
    return grpc::Status::OK;
  }
  grpc::Status ListPlans(grpc::ServerContext*, const v1::ListPlansRequest* request,
                         v1::ListPlansReply* reply) override {
    plans_without_edges = request->without_edges();
    reply->add_plans()->set_team(request->team());
    return grpc::Status::OK;
  }
  grpc::Status ShowPlan(grpc::ServerContext*, const v1::ShowPlanRequest* request, v1::ShowPlanReply* reply) override {
    reply->mutable_plan()->set_id(request->id());
    return grpc::Status::OK;
  }
  grpc::Status ExplainPlan(grpc::ServerContext*, const v1::ExplainPlanRequest* request,
                           v1::ExplainPlanReply* reply) override {
    reply->mutable_plan()->set_id(request->id());
    reply->set_text("n1\n└─ n2\n");
    reply->set_dot("digraph {}\n");
    return grpc::Status::OK;
  }
  grpc::Status ShowTopology(grpc::ServerContext*, const v1::ShowTopologyRequest*,
                            v1::ShowTopologyReply* reply) override {
    reply->add_switches()->set_name("core");
    return grpc::Status::OK;
  }
  grpc::Status ImportTopology(grpc::ServerContext*, const v1::ImportTopologyRequest* request,
                              v1::ImportTopologyReply* reply) override {
    const v1::TopologySource& source = request->source();
    last = absl::StrCat("import ", source.format(), " ", source.text(), " ", source.hardware().nodes(), " ",
                        source.hardware().cores(), " ", source.slurm().link_speed(), " ", source.slurm().latency(),
                        " version ", source.version(), request->dry_run() ? " dry" : "");
    reply->set_version(4);
    reply->set_changed(true);
    reply->add_notes("a note");
    auto* change = reply->add_changes();
    change->set_kind("changed");
    change->set_thing("node");
    change->set_names("n[1-4]");
    change->set_key("cores");
    change->set_before("none");
    change->set_after("8");
    return grpc::Status::OK;
  }
  grpc::Status ProbeTopology(grpc::ServerContext*, const v1::ProbeTopologyRequest* request,
                             v1::ProbeTopologyReply* reply) override {
    last = absl::StrCat("probe ", request->nodes_size(), " ", request->tree(), request->apply() ? " apply " : " ",
                        request->seconds());
    reply->set_tree("found");
    reply->set_applied(request->apply());
    reply->add_notes("a note");
    return grpc::Status::OK;
  }
  grpc::Status StopProbe(grpc::ServerContext*, const v1::StopProbeRequest*, v1::StopProbeReply*) override {
    last = "stop probe";
    return grpc::Status::OK;
  }
  grpc::Status DiffTopology(grpc::ServerContext*, const v1::DiffTopologyRequest* request,
                            v1::DiffTopologyReply*) override {
    last = absl::StrCat("diff ", request->before().version(), " ", request->after().version(), " ",
                        request->after().file());
    return grpc::Status::OK;
  }
  grpc::Status ExportTopology(grpc::ServerContext*, const v1::ExportTopologyRequest* request,
                              v1::ExportTopologyReply* reply) override {
    last = absl::StrCat("export ", request->format(), " ", request->source().version(), " ", request->link_speed());
    reply->set_format("yaml");
    reply->set_text("version: 1\n");
    return grpc::Status::OK;
  }
  grpc::Status ListTopologies(grpc::ServerContext*, const v1::ListTopologiesRequest*,
                              v1::ListTopologiesReply* reply) override {
    for (const uint64_t version : {2, 3}) reply->add_versions()->set_version(version);
    return grpc::Status::OK;
  }
  grpc::Status ListCollectives(grpc::ServerContext*, const v1::ListCollectivesRequest* request,
                               v1::ListCollectivesReply* reply) override {
    last = absl::StrCat("timeout ", request->timeout_s(), " team ", request->team());
    reply->add_collectives()->set_team(3);
    reply->add_silent("n2");
    reply->add_silent("n3");
    return grpc::Status::OK;
  }
  grpc::Status GetStats(grpc::ServerContext*, const v1::GetStatsRequest* request, v1::GetStatsReply* reply) override {
    auto* stats = reply->add_stats();
    stats->set_node("n1");
    (*stats->mutable_counters())["calls.done"] = 100 + 5 * stats_asked++;
    (*stats->mutable_counters())["daemon.clients"] = 3;
    AddEnds(stats->mutable_counters());
    if (request->node() == "n2") reply->add_silent("n2");
    if (request->accounts()) {
      last = absl::StrCat("accounts ", request->selector().nodes(), request->selector().has_uid() ? " of a user" : "");
      for (const auto& [node, limit] : {std::pair("n1", 10), {"n2", 8}}) {
        if (stats->node() != node) (stats = reply->add_stats())->set_node(node);
        for (const auto& [uid, job] : {std::pair(2000004242, "slurm-7"), {2000004243, "uid-2000004243"}}) {
          AddAccount(uid, job, limit, stats->add_accounts());
        }
      }
    }
    if (request->accounts() || clock_apart == absl::ZeroDuration()) return grpc::Status::OK;
    (*stats->mutable_counters())["data.mtu_bytes"] = 1500;
    (*stats->mutable_counters())["process.clock_at_ms"] = static_cast<uint64_t>(absl::ToUnixMillis(absl::Now()));
    auto* other = reply->add_stats();
    other->set_node("n2");
    (*other->mutable_counters())["data.mtu_bytes"] = 9000;
    (*other->mutable_counters())["process.clock_at_ms"] =
        static_cast<uint64_t>(absl::ToUnixMillis(absl::Now() + clock_apart));
    return grpc::Status::OK;
  }

  static void AddAccount(uint32_t uid, const char* job, uint64_t limit, v1::AccountRow* row) {
    row->set_uid(uid);
    row->set_job(job);
    row->set_weight(static_cast<uint32_t>(limit / 2));
    row->add_claimed("77");
    for (const auto& [resource, used, most] :
         {std::tuple("teams", 3, limit), {"memory", 1 << 20, 64 << 20}, {"posts", 5, UINT64_MAX}}) {
      v1::HoldingRow* const held = row->add_holdings();
      held->set_resource(resource);
      held->set_used(static_cast<uint64_t>(used));
      held->set_limit(most);
    }
  }
  grpc::Status SaveState(grpc::ServerContext*, const v1::SaveStateRequest*, v1::SaveStateReply* reply) override {
    reply->set_file(std::string("x\0y", 3));
    reply->set_cluster("c1");
    reply->set_teams(2);
    return grpc::Status::OK;
  }
  grpc::Status AdoptState(grpc::ServerContext*, const v1::AdoptStateRequest* request,
                          v1::AdoptStateReply* reply) override {
    last = absl::StrCat("adopt ", request->cluster(), request->force() ? " force" : "");
    reply->set_cluster("c1");
    reply->add_nodes("n1");
    return grpc::Status::OK;
  }
  grpc::Status ListEvents(grpc::ServerContext*, const v1::ListEventsRequest* request,
                          v1::ListEventsReply* reply) override {
    reply->set_planner(++events_asked > 3 ? 2 : 1);
    for (uint64_t number = request->after() + 1; number <= 2; ++number) {
      v1::EventRow* const row = reply->add_rows();
      row->set_number(number);
      row->set_who(absl::StrCat("node n", number));
    }
    return grpc::Status::OK;
  }
  grpc::Status ListAudit(grpc::ServerContext*, const v1::ListAuditRequest* request,
                         v1::ListAuditReply* reply) override {
    reply->add_rows()->set_who(absl::StrCat("last ", request->last()));
    return grpc::Status::OK;
  }
  grpc::Status GetPlannerStatus(grpc::ServerContext*, const v1::GetPlannerStatusRequest*,
                                v1::GetPlannerStatusReply* reply) override {
    reply->set_role("leader");
    return grpc::Status::OK;
  }
  grpc::Status GetPlannerStats(grpc::ServerContext*, const v1::GetPlannerStatsRequest*,
                               v1::GetPlannerStatsReply* reply) override {
    (*reply->mutable_counters())["loop.turns"] = 100 + 5 * stats_asked++;
    (*reply->mutable_counters())["sessions"] = 3;
    AddEnds(reply->mutable_counters());
    return grpc::Status::OK;
  }

  void AddEnds(google::protobuf::Map<std::string, uint64_t>* counters) const {
    for (const auto& [name, in] : ends) {
      (*counters)[name] = static_cast<uint64_t>(absl::ToUnixSeconds(absl::Now() + in));
    }
  }

  // Returns a ring of `kTraceRecords` in chunks of at most 100; the oldest `trace_overwritten` are gone. The daemon of
  // node "again" restarts before the fourth query, and has 150 records then. Of node "shared", the caller may see only
  // the records below 50 and from 1200 on.
  grpc::Status GetTrace(grpc::ServerContext*, const v1::GetTraceRequest* request, v1::GetTraceReply* reply) override {
    if (request->node() == "n9") return grpc::Status(grpc::StatusCode::NOT_FOUND, "node n9: not known");
    reply->set_node(request->node());
    const bool is_anew = request->node() == "again" && ++trace_queries > 3;
    const uint64_t recorded = is_anew ? 150 : kTraceRecords;
    reply->set_incarnation(is_anew ? 6 : 5);
    reply->set_clock("same");
    reply->set_off(request->node() == "off");
    if (reply->off()) return grpc::Status::OK;
    reply->set_first(std::min(std::max(request->from(), trace_overwritten), recorded));
    reply->set_next(recorded);
    const uint64_t count = std::min<uint64_t>(recorded - reply->first(), 100);
    for (uint64_t i = 0; i < count; ++i) {
      std::string record(32, '\0');
      const uint64_t number = reply->first() + i;
      if (request->node() == "shared" && number >= 50 && number < 1200) continue;
      record[0] = static_cast<char>(number & 0xff);
      record[1] = static_cast<char>(number >> 8);
      record[8] = 13;  // a trigger
      reply->mutable_records()->append(record);
    }
    if (request->node() == "shared") reply->set_end(reply->first() + count);
    return grpc::Status(request->takes_gaps() ? grpc::StatusCode::OK : grpc::StatusCode::PERMISSION_DENIED, "");
  }

  static constexpr uint64_t kTraceRecords = 1234;
  uint64_t trace_overwritten = 0;
  int trace_queries = 0;
  std::string last;                  // the last request
  bool plans_without_edges = false;  // the last list of plans
  int stats_asked = 0;
  uint32_t node_clients = 0;   // what ShowNode shows; one less each time
  absl::Duration clock_apart;  // of n2; 0: nodes say nothing of clocks and networks
  int events_asked = 0;
  absl::Duration stream_ends;                  // the certificate of n1's stream; 0: it has none
  std::map<std::string, absl::Duration> ends;  // what the daemon and the planner tell, by counters
};

class FakeDaemon final : public v1::NodeAdminService::Service {
 public:
  grpc::Status Ping(grpc::ServerContext*, const v1::PingRequest*, v1::PingReply*) override { return grpc::Status::OK; }
  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusAnswer* answer) override {
    answer->set_node("n1");
    return grpc::Status::OK;
  }
  grpc::Status BeginJob(grpc::ServerContext*, const v1::ChangeJobRequest*, v1::ChangeJobReply*) override {
    return grpc::Status::OK;
  }
  grpc::Status EndJob(grpc::ServerContext*, const v1::ChangeJobRequest*, v1::ChangeJobReply* reply) override {
    reply->set_clients(2);
    return grpc::Status::OK;
  }
};

class CopsectlTest : public ::testing::Test {
 protected:
  CopsectlTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&planner_);
    builder.RegisterService(&daemon_);
    server_ = builder.BuildAndStart();
  }
  ~CopsectlTest() override { server_->Shutdown(); }

  Outcome Ctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-e", absl::StrCat("127.0.0.1:", port_)});
    return RunCopsectl(arguments, 0, nullptr);
  }
  Json CtlJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-w", "json"});
    const Outcome outcome = Ctl(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  template <typename... Things>
  void ExpectFailure(const std::vector<std::string>& arguments, int exit_code, const Things&... things) {
    const Outcome outcome = Ctl(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.err, Names("copsectl", things...));
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }

  FakePlanner planner_;
  FakeDaemon daemon_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CopsectlTest, RowsCanBeWrittenInOtherForms) {
  EXPECT_EQ(Ctl({"team", "list", "-w", "name"}).out, "world\ntwin\ntwin\nyoung\n");
  EXPECT_EQ(Ctl({"team", "list", "-w", "json", "--columns", "id", "--sort", "-id"}).out,
            DumpJson(Json::parse(R"([{"id": 5}, {"id": 4}, {"id": 3}, {"id": 0}])")));
  EXPECT_EQ(Ctl({"team", "list", "--columns", "id,name", "--sort", "id"}).out,
            "ID  NAME\n 0  young\n 3  world\n 4  twin\n 5  twin\n");
  EXPECT_THAT(Ctl({"team", "list", "-w", "yaml"}).out, ::testing::HasSubstr("- id: 3\n  name: world\n"));
  EXPECT_THAT(Ctl({"node", "list", "-w", "wide"}).out, ::testing::HasSubstr("INCARNATION"));
  ExpectFailure({"team", "list", "--columns", "ID"}, 2, "columns=ID", "id name");
  ExpectFailure({"node", "list", "-w", "xml"}, 2, "--write-out", "xml");
}

TEST_F(CopsectlTest, AWaitingDrainWritesItsAnswerAlone) {
  std::string shown;
  const auto print = [&](const std::string& text) {
    shown += text;
    return true;
  };
  planner_.node_clients = 1;
  const std::string endpoint = absl::StrCat("127.0.0.1:", port_);
  EXPECT_EQ(RunCopsectl({"-e", endpoint, "node", "drain", "n1", "--wait"}, 80, print).exit_code, 0);
  EXPECT_EQ(shown, "");
}

TEST_F(CopsectlTest, WhatTakesLongSaysWhatItWaitsFor) {
  std::string shown;  // by VerbProgress's thread, which has ended then
  const ProgressOutput progress = {.write = [&shown](const std::string& text) { shown += text; }};
  const std::string endpoint = absl::StrCat("127.0.0.1:", port_);
  const std::vector<std::string> waits = {"-e",      endpoint, "team",      "wait", "twin",
                                          "--state", "gone",   "--timeout", "2.5"};
  EXPECT_EQ(RunCopsectl(waits, 0, nullptr, progress).exit_code, 4);
  EXPECT_THAT(shown, ::testing::StartsWith("copsectl: team wait: "));
  EXPECT_THAT(shown, ::testing::HasSubstr("state=broken,ready, wanted=gone"));
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 1) << shown;
}

TEST_F(CopsectlTest, OfTeamsWithOneNameAnyMayBeInTheStateThatIsAwaited) {
  EXPECT_EQ(CtlJson({"team", "wait", "twin"})["state"], "ready");
  EXPECT_EQ(CtlJson({"team", "wait", "twin", "--state", "broken"})["state"], "broken");
  EXPECT_EQ(CtlJson({"team", "wait", "nobody", "--state", "gone"})["state"], "gone");
  ExpectFailure({"team", "wait", "twin", "--state", "gone", "--timeout", "0.3"}, 4, "state=broken,ready",
                "wanted=gone");
}

TEST_F(CopsectlTest, AReportThatCannotBeWrittenFails) {
  ExpectFailure({"support", "/nowhere/support.tar"}, 1, "file=/nowhere/support.tar");
}

TEST_F(CopsectlTest, HelpIsThatOfTheVerb) {
  EXPECT_EQ(Ctl({"help"}).out, Ctl({"--help"}).out);
  EXPECT_EQ(Ctl({"help", "node"}).out, Ctl({"node", "--help"}).out);
  EXPECT_EQ(Ctl({"help", "node", "drain"}).out, Ctl({"node", "drain", "--help"}).out);
  EXPECT_NE(Ctl({"help", "node", "drain"}).out, Ctl({"help"}).out);
  ExpectFailure({"help", "node", "drian"}, 2, "verb=node drian");
}

TEST_F(CopsectlTest, EventsAreFollowedFromOnePlannerToTheNext) {
  std::string shown;
  int rounds = 0;
  const auto print = [&](const std::string& text) {
    shown += text;
    return ++rounds < 4;
  };
  const std::string endpoint = absl::StrCat("127.0.0.1:", port_);
  EXPECT_EQ(RunCopsectl({"-e", endpoint, "events", "--watch"}, 0, print).exit_code, 0);
  const std::string once = "  node n1    \n  node n2    \n";
  EXPECT_EQ(shown, once + once);
}

TEST_F(CopsectlTest, AListIsShownAgainUntilItsOutputIsClosed) {
  std::vector<std::string> shown;
  const auto print = [&](const std::string& text) {
    shown.push_back(text);
    return shown.size() < 3;
  };
  const std::string endpoint = absl::StrCat("127.0.0.1:", port_);
  const Outcome outcome =
      RunCopsectl({"-e", endpoint, "node", "list", "-w", "name", "--watch", "--interval", "0.1"}, 0, print);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(shown, std::vector<std::string>(3, "n1\n"));
  EXPECT_EQ(Ctl({"node", "show", "", "--watch"}).exit_code, 2);
  ExpectFailure({"node", "remove", "n1", "--watch"}, 2, "--watch", "node remove");
}

TEST_F(CopsectlTest, EveryVerbHonorsJson) {
  const std::string page = ::testing::TempDir() + "/page";
  std::ofstream(page) << "http://127.0.0.1:7473/?token=1\n";
  const std::string home = ::testing::TempDir() + "/home";
  std::filesystem::create_directories(home + "/copse/contexts");
  std::ofstream(home + "/copse/contexts/here.yaml") << "endpoint: x:1\n";
  setenv("XDG_CONFIG_HOME", home.c_str(), 1);
  const std::vector<std::vector<std::string>> command_lines = {
      {"node", "list"},
      {"node", "show", "n1"},
      {"node", "undrain", "n1"},
      {"node", "remove", "n1"},
      {"daemon", "status"},
      {"daemon", "begin-job", "slurm-7", "--user", "2000004242"},
      {"daemon", "end-job", "slurm-7", "--user", "2000004242"},
      {"node", "drain", "n1", "--wait", "--why", "disk"},
      {"team", "list"},
      {"team", "wait", "7", "--state", "gone"},
      {"job", "list"},
      {"job", "show", "77"},
      {"quota"},
      {"team", "show", "3"},
      {"team", "replan", "3"},
      {"team", "break", "3"},
      {"plan", "list"},
      {"plan", "show", "5"},
      {"plan", "explain", "5"},
      {"plan", "diff", "5", "6"},
      {"plan", "svg", "5"},
      {"topo", "show"},
      {"topo", "import", "--version", "3"},
      {"topo", "diff"},
      {"topo", "export"},
      {"topo", "list"},
      {"topo", "probe"},
      {"coll", "list"},
      {"planner", "status"},
      {"audit", "--last", "5"},
      {"events", "--last", "5"},
      {"state", "save", ::testing::TempDir() + "/saved"},
      {"state", "adopt"},
      {"page", "--file", page},
      {"stats"},
      {"top", "--seconds", "0.01"},
      {"trace", "--node", "n1"},
      {"completion", "bash"},
      {"help"},
      {"support", ::testing::TempDir() + "/support.tar"},
      {"context", "list"},
      {"context", "use", "here"},
      {"ping"},
      {"version"}};
  // `doctor` fails, as this cluster is not well.
  EXPECT_EQ(command_lines.size() + 1, AllVerbs().size()) << "a verb is missing here";
  for (const auto& command_line : command_lines) {
    const Json json = CtlJson(command_line);
    EXPECT_TRUE(json.is_object() || json.is_array()) << command_line[0] << " " << json;
    const Outcome table = Ctl(command_line);
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_FALSE(table.out.empty());
    EXPECT_EQ(table.out.back(), '\n');
  }
}

TEST_F(CopsectlTest, QuotaSumsWhatAJobHoldsOverNodes) {
  const Json all = CtlJson({"quota"});
  ASSERT_EQ(all.size(), 2u);
  const Json& row = all[0];
  EXPECT_EQ(row["user"], "2000004242");
  EXPECT_EQ(row["job"], "slurm-7");
  EXPECT_EQ(row["claimed"], "77");
  EXPECT_EQ(row["nodes"], Json({"n1", "n2"}));
  EXPECT_EQ(row["teams"], 6);
  EXPECT_EQ(row["bytes_reserved"], 2 << 20);
  EXPECT_EQ(row["limits"]["teams"], 8) << "the least of the nodes'";
  EXPECT_TRUE(row["limits"]["posts"].is_null()) << "there is none";
  EXPECT_EQ(row["per_node"][0]["limits"]["teams"], 10);
  EXPECT_EQ(row["weight"], 4) << "the least of the nodes'";
  EXPECT_EQ(row["per_node"][0]["weight"], 5);
  EXPECT_EQ(row["per_node"][1]["bytes_reserved"], 1 << 20);
  EXPECT_THAT(Ctl({"quota"}).out, ::testing::HasSubstr("teams=8 memory=64MiB weight=4"));
  EXPECT_THAT(Ctl({"quota", "-w", "yaml"}).out, ::testing::HasSubstr("bytes_reserved: 2097152"));
  EXPECT_THAT(Ctl({"quota", "-w", "wide"}).out, ::testing::HasSubstr("slurm-7"));
}

TEST_F(CopsectlTest, QuotaSelectsUsersAndJobsItself) {
  const Json rows = CtlJson({"quota", "--user", "2000004243"});
  EXPECT_EQ(planner_.last, "accounts ") << "planners do not select accounts";
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["job"], "uid-2000004243");
  EXPECT_EQ(CtlJson({"quota", "--job", "slurm-7"}).size(), 1u);
  EXPECT_EQ(CtlJson({"quota", "--job", "77"}).size(), 0u) << "what processes claim is no job";
  ExpectFailure({"quota", "--user", "no-such-user"}, 2, "user=no-such-user");
}

TEST_F(CopsectlTest, DoctorComparesClocksAndMtus) {
  for (const auto& [apart, clocks_ok, off] :
       {std::tuple(absl::ZeroDuration(), true, "not known"), std::tuple(absl::Milliseconds(200), true, "apart"),
        std::tuple(absl::Hours(-1), false, "off: n2"), std::tuple(absl::Seconds(5), false, "off: n2")}) {
    planner_.clock_apart = apart;
    const Outcome outcome = Ctl({"doctor", "-w", "json"});
    const Json checks = Json::parse(outcome.out, nullptr, false);
    for (const Json& check : checks) {
      if (check["check"] == "nodes: clocks") {
        EXPECT_EQ(check["ok"], clocks_ok) << apart;
        EXPECT_THAT(check["seen"].get<std::string>(), ::testing::HasSubstr(off));
      }
      if (check["check"] != "nodes: MTU of the network for data") continue;
      EXPECT_EQ(check["ok"], apart == absl::ZeroDuration());
      EXPECT_EQ(check["seen"], apart == absl::ZeroDuration() ? "not known" : "1500: n1; 9000: n2");
    }
    EXPECT_THAT(outcome.out, ::testing::HasSubstr("nodes: clocks"));
    EXPECT_THAT(outcome.out, ::testing::HasSubstr("nodes: MTU"));
  }
}

TEST_F(CopsectlTest, NodeListNamesCertificatesThatEndSoon) {
  EXPECT_EQ(Ctl({"node", "list"}).err, "");
  planner_.stream_ends = absl::Hours(24 * 15);
  EXPECT_EQ(Ctl({"node", "list"}).err, "");
  for (const int days : {13, -1}) {
    planner_.stream_ends = absl::Hours(24 * days);
    EXPECT_THAT(Ctl({"node", "list"}).err, ::testing::HasSubstr("node n1: ")) << days;
  }
}

TEST_F(CopsectlTest, DoctorNamesCertificatesAndListsThatEndSoon) {
  const auto judge = [&](const std::string& name) -> std::string {
    for (const Json& check : Json::parse(Ctl({"doctor", "-w", "json"}).out, nullptr, false)) {
      if (check["check"] != name) continue;
      EXPECT_EQ(check["advice"] == "", check["ok"].get<bool>());
      return check["ok"].get<bool>() ? "well" : check["seen"].get<std::string>();
    }
    return "no such check";
  };
  EXPECT_EQ(judge("nodes: certificates"), "well");
  EXPECT_EQ(judge("nodes: revocation lists"), "well");
  EXPECT_EQ(judge("planner: certificate"), "no such check");
  planner_.stream_ends = absl::Hours(24 * 13);
  EXPECT_EQ(judge("nodes: certificates"), "0 of 1; not n1");
  // The daemon has another certificate since.
  planner_.ends = {{rpc::kCertificateEndsCounter, absl::Hours(24 * 15)}, {rpc::kListEndsCounter, absl::Hours(24 * 8)}};
  EXPECT_EQ(judge("nodes: certificates"), "well");
  EXPECT_EQ(judge("nodes: revocation lists"), "well");
  EXPECT_EQ(judge("planner: certificate"), "well");
  EXPECT_EQ(judge("planner: revocation list"), "well");
  planner_.ends = {{rpc::kCertificateEndsCounter, absl::Hours(24 * 13)}, {rpc::kListEndsCounter, absl::Hours(24 * 6)}};
  EXPECT_EQ(judge("nodes: certificates"), "0 of 1; not n1");
  EXPECT_EQ(judge("nodes: revocation lists"), "0 of 1; not n1");
  EXPECT_THAT(judge("planner: certificate"), ::testing::StartsWith("ends 20"));
  EXPECT_THAT(judge("planner: revocation list"), ::testing::StartsWith("ends 20"));
}

TEST_F(CopsectlTest, TheSavedStateIsWrittenAsItCame) {
  const std::string path = ::testing::TempDir() + "/saved";
  EXPECT_EQ(CtlJson({"state", "save", path})["bytes"], 3);
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), std::string("x\0y", 3));
  ExpectFailure({"state", "save", "/nowhere/saved"}, 1, "file=/nowhere/saved");
  Ctl({"state", "adopt", "--cluster", "c1", "--force"});
  EXPECT_EQ(planner_.last, "adopt c1 force");
}

TEST_F(CopsectlTest, ArgumentsReachTheServer) {
  Ctl({"node", "drain", "n1"});
  EXPECT_EQ(planner_.last, "n1 drained");
  Ctl({"node", "undrain", "n1"});
  EXPECT_EQ(planner_.last, "n1 undrained");
  Ctl({"node", "remove", "n1"});
  EXPECT_EQ(planner_.last, "n1 removed");
  Ctl({"team", "replan", "world", "--algorithm", "flat", "--collective", "bcast"});
  EXPECT_EQ(planner_.last, "replan 3 flat bcast");
  Ctl({"team", "break", "3", "--why", "tired of it"});
  EXPECT_EQ(planner_.last, "break 3 tired of it");
  Ctl({"--timeout", "1", "coll", "list", "--team", "world"});
  EXPECT_EQ(planner_.last, "timeout 0.7 team 3");
  EXPECT_EQ(CtlJson({"plan", "list", "--team", "7"})[0]["team"], 7);
  EXPECT_FALSE(planner_.plans_without_edges);
  Ctl({"plan", "list"});
  EXPECT_TRUE(planner_.plans_without_edges);
  Ctl({"plan", "list", "--columns", "edges"});
  EXPECT_FALSE(planner_.plans_without_edges);
  EXPECT_EQ(CtlJson({"ping", "--node", "n1"})["node"], "n1");
  EXPECT_EQ(Ctl({"plan", "explain", "5", "--dot"}).out, "digraph {}\n");
}

TEST_F(CopsectlTest, TopologiesGoToTheServerAsText) {
  const std::string path = ::testing::TempDir() + "/topology.conf";
  std::ofstream(path) << "SwitchName=s";
  EXPECT_EQ(Ctl({"topo", "import", path, "--dry-run", "--link-speed", "1Mbit", "--latency", "1us,2us"}).out,
            "~ node n[1-4]: cores: none -> 8\nnothing was changed: a dry run (version=4)\n");
  EXPECT_EQ(planner_.last, "import  SwitchName=s  0 1Mbit 1us,2us version 0 dry");
  const std::string machine = ::testing::TempDir() + "/machine.xml";
  std::ofstream(machine) << kMachine;
  const Outcome imported = Ctl({"topo", "import", "--hwloc", machine, "--node", "n[1-4]"});
  EXPECT_EQ(imported.out, "~ node n[1-4]: cores: none -> 8\nversion 4 is in force; teams with new plans: 0\n");
  EXPECT_EQ(imported.err, "copsectl: topo import: a note\n");
  EXPECT_EQ(planner_.last, "import   n[1-4] 2   version 0");
  // The format is detected from the text.
  EXPECT_EQ(Ctl({"topo", "import", machine, "--node", "n7"}).exit_code, 0);
  EXPECT_EQ(planner_.last, "import   n7 2   version 0");
  EXPECT_EQ(CtlJson({"topo", "import", "--version", "2"})["changes"][0]["names"], "n[1-4]");
  EXPECT_EQ(planner_.last, "import    0   version 2");
  EXPECT_EQ(Ctl({"topo", "diff"}).out, "no difference\n");
  EXPECT_EQ(planner_.last, "diff 2 3 ");
  Ctl({"topo", "diff", path});
  EXPECT_EQ(planner_.last, absl::StrCat("diff 0 0 ", path));
  Ctl({"topo", "diff", "--from", "1", "--to", "2"});
  EXPECT_EQ(planner_.last, "diff 1 2 ");
  EXPECT_EQ(Ctl({"topo", "export", "--format", "slurm", "--version", "2", "--link-speed", "1Mbit"}).out,
            "version: 1\n");
  EXPECT_EQ(planner_.last, "export slurm 2 1Mbit");
}

TEST_F(CopsectlTest, WhatToProbeReachesTheServer) {
  EXPECT_EQ(Ctl({"topo", "probe"}).err, "copsectl: topo probe: a note\n");
  EXPECT_EQ(planner_.last, "probe 0  60");
  EXPECT_EQ(CtlJson({"topo", "probe", "--nodes", "n[1-4]", "--tree", "known", "--seconds", "7", "--apply"})["applied"],
            true);
  EXPECT_EQ(planner_.last, "probe 4 known apply 7");
  ExpectFailure({"topo", "probe", "--tree", "bush"}, 2, "tree=bush, known=known find");
  ExpectFailure({"topo", "probe", "--seconds", "0"}, 2, "seconds=0, limit=3600");
  EXPECT_EQ(Ctl({"topo", "probe", "--nodes", "n[4-"}).exit_code, 2);
  EXPECT_EQ(Ctl({"topo", "probe", "--stop"}).out, "stopped\n");
  EXPECT_EQ(planner_.last, "stop probe");
  EXPECT_EQ(CtlJson({"topo", "probe", "--stop"})["stopped"], true);
  ExpectFailure({"topo", "probe", "--stop", "--apply"}, 2, "--stop", "with=--apply");
}

TEST_F(CopsectlTest, TopologiesThatCannotBeSent) {
  ExpectFailure({"topo", "import"}, 2, "--hwloc", "--version");
  ExpectFailure({"topo", "import", "/nowhere/t"}, 2, "file=/nowhere/t");
  ExpectFailure({"topo", "import", "--hwloc", "/dev/null"}, 2, "--node");
  ExpectFailure({"topo", "import", "/dev/null", "--node", "n1"}, 2, "--node");
  ExpectFailure({"topo", "import", "--hwloc", "/dev/null", "--node", "n1"}, 2, "/dev/null", "bytes=0");
  ExpectFailure({"topo", "import", "f", "--hwloc", "x"}, 2, "--hwloc");
  ExpectFailure({"topo", "import", "--version", "0"}, 2, "version=0");
  ExpectFailure({"topo", "import", "/tmp"}, 2, "file=/tmp");
}

TEST_F(CopsectlTest, ATraceComesInPieces) {
  planner_.trace_overwritten = 34;
  const Json trace = CtlJson({"trace", "--node", "n1", "--node", "n[2-3]"});
  std::map<int, int> triggers;
  for (const Json& event : trace["traceEvents"]) triggers[event["pid"].get<int>()] += event["ph"] == "i";
  EXPECT_EQ(triggers, (std::map<int, int>{{1, 1200}, {2, 1200}, {3, 1200}}));
  planner_.trace_overwritten = 0;
}

TEST_F(CopsectlTest, ATraceGoesToAFile) {
  const std::string path = ::testing::TempDir() + "/trace.json";
  const Json summary = CtlJson({"trace", "--node", "n1", "--output", path});
  EXPECT_EQ(summary["records"], 1234);
  EXPECT_EQ(summary["lost"], 0);
  std::ifstream file(path);
  EXPECT_EQ(Json::parse(file)["traceEvents"].is_array(), true);
  const Outcome refused = Ctl({"trace", "--node", "n1", "--output", "/nowhere/trace.json"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, Names("output=/nowhere/trace.json"));
}

TEST_F(CopsectlTest, ATraceHasGapsWhereRecordsAreOthers) {
  const Outcome own = Ctl({"trace", "--node", "shared", "-w", "json", "--output", ::testing::TempDir() + "/own.json"});
  EXPECT_EQ(Json::parse(own.out)["records"], 50 + 34);
  EXPECT_EQ(Json::parse(own.out)["lost"], 0);
  EXPECT_THAT(own.err, Names("role operator"));
}

TEST_F(CopsectlTest, ATraceIsOfOneLifeOfADaemon) {
  const Outcome restarted =
      Ctl({"trace", "--node", "again", "-w", "json", "--output", ::testing::TempDir() + "/again.json"});
  EXPECT_EQ(Json::parse(restarted.out)["records"], 150);
  EXPECT_THAT(restarted.err, Names("node=again", "records=300"));
}

TEST_F(CopsectlTest, ATraceIsNotForATerminalAndHasALimit) {
  const std::vector<std::string> trace = {"-e", absl::StrCat("127.0.0.1:", port_), "trace", "--node", "n1"};
  const Outcome terminal = RunCopsectl(trace, 80, nullptr);
  EXPECT_EQ(terminal.exit_code, 2);
  EXPECT_EQ(terminal.out, "");
  EXPECT_THAT(terminal.err, Names("--output"));
  ExpectFailure({"trace", "--node", "n1", "--records", "1233"}, 1, "limit=1233");
  EXPECT_EQ(Ctl({"trace", "--node", "n1", "--records", "1234"}).exit_code, 0);
  ExpectFailure({"trace", "--records", "0"}, 2, "records=0");
}

TEST_F(CopsectlTest, ATraceThatCannotBe) {
  EXPECT_THAT(Ctl({"trace", "--node", "n9"}).err, Names("node n9"));
  EXPECT_THAT(Ctl({"trace", "--node", "n1", "--seconds", "0"}).err, Names("seconds=0, limit=600"));
  EXPECT_THAT(Ctl({"trace", "--seconds", "1", "--last", "1s"}).err, Names("--seconds", "--last"));
  EXPECT_EQ(Ctl({"trace", "--last", "soon"}).exit_code, 2);
  EXPECT_THAT(Ctl({"trace", "--node", "off"}).err, Names("node=off"));
}

// Records made before the start are skipped; records overwritten before they were fetched are reported.
TEST_F(CopsectlTest, RecordingSkipsThePast) {
  const Outcome nothing = Ctl({"trace", "--node", "n1", "--seconds", "0.01", "-w", "json", "--output",
                               ::testing::TempDir() + "/recorded.json"});
  EXPECT_EQ(nothing.exit_code, 0) << nothing.err;
  EXPECT_EQ(Json::parse(nothing.out)["records"], 0);
  EXPECT_EQ(nothing.err, "");
}

TEST_F(CopsectlTest, TeamsGoByIdOrByNameIfOnlyOneHasIt) {
  EXPECT_EQ(CtlJson({"team", "show", "world"})["id"], 3);
  EXPECT_EQ(CtlJson({"team", "show", "12"})["id"], 12);
  ExpectFailure({"team", "show", "nobody"}, 1, "team=nobody");
  ExpectFailure({"team", "show", "young"}, 1, "team=young");
  ExpectFailure({"team", "show", "twin"}, 1, "team=twin, ids=4,5");
  ExpectFailure({"team", "show", "0"}, 2, "team=0");
  ExpectFailure({"plan", "show", "x"}, 2, "plan=x");
}

TEST_F(CopsectlTest, ServersErrorsAreOneLine) {
  ExpectFailure({"ping", "--node", "n9"}, 1, "node n9");
  ExpectFailure({"ping", "--node", "n3"}, 4, "node n3");
  ExpectFailure({"team", "replan", "3", "--algorithm", "bad"}, 2, "no such algorithm");
}

TEST_F(CopsectlTest, SilentDaemonsAreNotedBesideTheRest) {
  Outcome outcome = Ctl({"coll", "list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, Names("nodes=n[2-3]"));
  outcome = Ctl({"stats", "--node", "n2"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, Names("node=n2"));
}

TEST_F(CopsectlTest, WatchedStatsTellWhatChanged) {
  planner_.stats_asked = 0;
  std::vector<std::string> seen;
  const auto watch = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"-e", absl::StrCat("127.0.0.1:", port_), "stats", "--watch", "0.1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    seen.clear();
    return RunCopsectl(arguments, 0, [&](const std::string& text) {
      seen.push_back(text);
      return seen.size() < 2;
    });
  };
  Outcome outcome = watch({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NE(seen[0].find("calls.done"), std::string::npos) << seen[0];
  EXPECT_NE(seen[0].find("  5 "), std::string::npos) << "the change: " << seen[0];
  EXPECT_EQ(seen[0].find("daemon.clients"), std::string::npos) << "has not changed: " << seen[0];

  outcome = watch({"-w", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].find('\n'), seen[1].size() - 1) << "a document a line";
  const Json json = Json::parse(seen[1]);
  EXPECT_EQ(json[0]["node"], "n1");
  EXPECT_EQ(json[0]["counters"]["daemon.clients"], 3);
  EXPECT_EQ(json[0]["changes"], Json({{"calls.done", 5}}));
  EXPECT_GE(json[0]["seconds"].get<double>(), 0.05);
}

TEST_F(CopsectlTest, ThePlannersStatsAreThoseOfANode) {
  planner_.stats_asked = 0;
  EXPECT_EQ(CtlJson({"stats", "--planner"}),
            Json::array({{{"node", "planner"}, {"counters", {{"loop.turns", 100}, {"sessions", 3}}}}}));
  const Outcome table = Ctl({"stats", "--planner"});
  EXPECT_EQ(table.out,
            "NODE     COUNTER     VALUE\n"
            "planner  loop.turns    105\n"
            "planner  sessions        3\n");
  EXPECT_EQ(CtlJson({"stats", "--planner", "--histograms"})[0]["latencies"][0]["part"], "turn");
  std::string seen;
  const Outcome watched =
      RunCopsectl({"-e", absl::StrCat("127.0.0.1:", port_), "stats", "--planner", "--watch", "0.1", "-w", "json"}, 0,
                  [&](const std::string& text) {
                    seen = text;
                    return false;
                  });
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_EQ(Json::parse(seen)[0]["changes"], Json({{"loop.turns", 5}}));
}

TEST_F(CopsectlTest, ACrashedDaemonsTraceIsReadFromItsFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/copsed-n7.crash");
  std::ofstream(path) << "copse-crash 1\nnode n7\nincarnation 5\nsignal 11\ncounter loop.turns 9\nrecords 3\n"
                      << std::string(2 * 32 + 5, '\0');
  const Json json = Json::parse(Ctl({"trace", "--crash", path}).out);
  EXPECT_NE(json.dump().find("n7"), std::string::npos) << json;
  const std::string output = path + ".json";
  EXPECT_EQ(CtlJson({"trace", "--crash", path, "--output", output})["records"], 2) << "the third one was cut off";
  ExpectFailure({"trace", "--crash", path, "--node", "n1"}, 2, "--crash", "--node");
  ExpectFailure({"trace", "--crash", output}, 2, absl::StrCat("crash=", output));
}

TEST_F(CopsectlTest, WhatCannotBeWatched) {
  ExpectFailure({"stats", "--planner", "--node", "n1"}, 2, "--planner", "--node");
  ExpectFailure({"stats", "--planner", "--watch", "1", "--histograms"}, 2, "--watch", "--histograms");
  ExpectFailure({"stats", "--watch", "soon"}, 2, "watch=soon, limits=0.1 to 86400");
  ExpectFailure({"stats", "--watch", "0"}, 2, "watch=0, limits=0.1 to 86400");
  ExpectFailure({"stats", "--watch", "1", "--histograms"}, 2, "--watch", "--histograms");
  ExpectFailure({"stats", "--raw", "--histograms"}, 2, "--raw", "--histograms");
  ExpectFailure({"stats", "--histograms", "--collective", "barier"}, 2, "collective=barier", "names=barrier,bcast,");
}

TEST_F(CopsectlTest, LinesAreCutToTheTerminal) {
  const Outcome outcome = RunCopsectl({"-e", absl::StrCat("127.0.0.1:", port_), "node", "list"}, 10, nullptr);
  EXPECT_TRUE(absl::StartsWith(outcome.out, "NAME  STA…\n")) << outcome.out;
  EXPECT_TRUE(absl::StartsWith(Ctl({"--width", "5", "node", "list"}).out, "NAME…\n"));
}

// Runs a verb at a server that has this service alone.
Outcome RunAt(grpc::Service* service, const std::vector<std::string>& verb, std::string* endpoint) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service);
  const auto server = builder.BuildAndStart();
  *endpoint = absl::StrCat("127.0.0.1:", port);
  std::vector<std::string> arguments = {"-e", *endpoint};
  arguments.insert(arguments.end(), verb.begin(), verb.end());
  return RunCopsectl(arguments, 0, nullptr);
}

TEST(WrongServerTest, AVerbOfDaemonsSaysThatThisIsAPlanner) {
  FakePlanner planner;
  std::string endpoint;
  const Outcome outcome = RunAt(&planner, {"daemon", "status"}, &endpoint);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err,
              Names("daemon status", absl::StrCat("endpoint=", endpoint), "server=planner", "wanted=daemon"));
}

TEST(WrongServerTest, AVerbOfPlannersSaysThatThisIsADaemon) {
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"node", "list"}, {"team", "list"}, {"plan", "list"}, {"planner", "status"}, {"ping"}, {"doctor"}}) {
    FakeDaemon daemon;
    std::string endpoint;
    const Outcome outcome = RunAt(&daemon, verb, &endpoint);
    EXPECT_EQ(outcome.exit_code, 1) << verb[0];
    EXPECT_THAT(outcome.err + outcome.out,
                Names(verb[0], absl::StrCat("endpoint=", endpoint), "server=daemon", "wanted=planner"));
  }
}

TEST(WrongServerTest, AnOlderServerOfTheRightKindIsNotTakenForTheOther) {
  v1::AdminService::Service older;  // has no method at all
  std::string endpoint;
  const Outcome outcome = RunAt(&older, {"node", "list"}, &endpoint);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, Names(absl::StrCat("endpoint=", endpoint)));
  EXPECT_FALSE(absl::StrContains(outcome.err, "server=")) << outcome.err;
}

// DeafSocket is a socket on loopback, listening or not, that never answers.
class DeafSocket {
 public:
  explicit DeafSocket(bool listening) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    if (listening) {
      EXPECT_EQ(listen(fd_, 8), 0);
    }
    endpoint_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~DeafSocket() { close(fd_); }
  const std::string& endpoint() const { return endpoint_; }

 private:
  const int fd_;
  std::string endpoint_;
};

// A Standby names the leader to all who ask it.
class Standby final : public v1::AdminService::Service {
 public:
  explicit Standby(std::string leader) : leader_(std::move(leader)) {}
  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest*, v1::ListNodesReply*) override {
    context->AddTrailingMetadata(rpc::kLeaderMetadataKey, leader_);
    return {grpc::StatusCode::UNAVAILABLE, absl::StrCat("this planner stands by (leader=", leader_, ")")};
  }

 private:
  const std::string leader_;
};

// A Server serves on a port of loopback.
class Server {
 public:
  explicit Server(grpc::Service* service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(ReachTest, OfSeveralPlannersTheOneThatLeadsAnswers) {
  const DeafSocket nobody(false), deaf(true);
  FakePlanner planner;
  const Server leader(&planner);
  Standby standby(leader.endpoint());
  const Server other(&standby);
  for (const std::string& endpoints :
       {absl::StrCat(nobody.endpoint(), ",", leader.endpoint()),
        absl::StrCat(leader.endpoint(), ",", nobody.endpoint()), absl::StrCat(deaf.endpoint(), ",", leader.endpoint()),
        absl::StrCat(other.endpoint(), ",", nobody.endpoint())}) {
    const Outcome outcome = RunCopsectl({"-e", endpoints, "node", "list"}, 0, nullptr);
    EXPECT_EQ(outcome.exit_code, 0) << endpoints << ": " << outcome.err;
    EXPECT_TRUE(absl::StrContains(outcome.out, "n1")) << outcome.out;
  }
  Standby lost(nobody.endpoint());
  const Server alone(&lost);
  const std::string endpoints = absl::StrCat(alone.endpoint(), ",", nobody.endpoint());
  const Outcome outcome = RunCopsectl({"-e", endpoints, "node", "list"}, 0, nullptr);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, Names(absl::StrCat("endpoint=", endpoints)));
}

TEST(ReachTest, NobodyListensIsThree) {
  const DeafSocket nobody(false);  // holds the port, so that no other process listens there
  const Outcome outcome = RunCopsectl({"-e", nobody.endpoint(), "node", "list"}, 0, nullptr);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, Names("copsectl: node list", absl::StrCat("endpoint=", nobody.endpoint())));
}

TEST(ReachTest, CertificatesThatAreMissingAreTwo) {
  const Outcome half = RunCopsectl({"-e", "127.0.0.1:1", "--cert", "c.pem", "ping"}, 0, nullptr);
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_TRUE(absl::StrContains(half.err, "--key: is missing: --cert, --key and --cacert")) << half.err;
  const Outcome none = RunCopsectl(
      {"-e", "n1:1", "--cert", "/nowhere/c", "--key", "/nowhere/k", "--cacert", "/nowhere/a", "ping"}, 0, nullptr);
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(absl::StrContains(none.err, "/nowhere/c")) << none.err;
}

TEST(ReachTest, NoAnswerIsFour) {
  const DeafSocket deaf(true);
  const Outcome outcome = RunCopsectl({"-e", deaf.endpoint(), "--timeout", "0.2", "ping"}, 0, nullptr);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, Names("copsectl: ping", absl::StrCat("endpoint=", deaf.endpoint()), "limit=200ms"));
}

TEST(UsageTest, MistakesAreTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {"-w", "xml", "ping"},
                                             {"-e", "no port", "ping"},
                                             {"-e", "192.0.2.1:7470", "ping"},
                                             {"--token-file", "/nonexistent/token", "ping"}}) {
    const Outcome outcome = RunCopsectl(arguments, 0, nullptr);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(absl::StartsWith(outcome.err, "copsectl: ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST(UsageTest, HelpAndVersionAreZero) {
  EXPECT_EQ(RunCopsectl({"--version"}, 0, nullptr).out, absl::StrCat("copsectl ", kVersion, "\n"));
  for (const Verb& verb : AllVerbs()) {
    std::vector<std::string> words;
    if (!verb.family.empty()) words.push_back(verb.family);
    words.insert(words.end(), {verb.name, "--help"});
    const Outcome outcome = RunCopsectl(words, 0, nullptr);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(absl::StrContains(outcome.out, verb.help)) << outcome.out;
  }
}

}  // namespace
}  // namespace copse::ctl
