// SPDX-License-Identifier: Apache-2.0
//
// Topologies and rules of a planner's process: imports, files that change, versions, and what is planned anew.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "planner/server/testing/planner_life.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::Names;

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

// Sends SIGHUPs, which find the same file, and waits until there are so many versions.
void ReloadUntil(const Life& life, size_t versions) {
  for (int i = 0; i < 5; ++i) {
    kill(getpid(), SIGHUP);
    absl::SleepFor(absl::Microseconds(200));  // tidy: allow(sleep) because signals that come at once are one
  }
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
  EXPECT_NE(Export(life).find("name: \"n[0-3]\", switch: \"core\", overhead: 3us"), std::string::npos);
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
    EXPECT_NE(Export(life).find("overhead: 4us"), std::string::npos);
    EXPECT_EQ(Import(life, TopologyWith(5)).reply.version(), 4u);
  }
  {
    Life life(state, file);
    EXPECT_EQ(Versions(life).size(), 4u) << "an unchanged file is no version";
    EXPECT_NE(Export(life).find("overhead: 5us"), std::string::npos);
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
