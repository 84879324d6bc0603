// SPDX-License-Identifier: Apache-2.0
//
// Tests that the swarm's daemons form teams at a real planner, beside a real daemon.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"
#include "testbed/script/script.h"

namespace copse::bench {
namespace {

using copse::testing::Names;

constexpr absl::Duration kSettle = absl::Seconds(60);

// Runs `nodes` daemons at a planner, which is restarted.
void FormTeamsAndReturn(uint32_t nodes, bool have_certificates) {
  procs::ProcessClusterOptions options;
  if (have_certificates) {
    options.transport = "tcp";
    options.copsed_settings = {{"transport", "ucx"}, {"trust_network", "true"}};  // the swarm's addresses are UCX's
  }
  procs::ProcessCluster cluster(options);
  ASSERT_EQ(cluster.Start({.nodes = 1}), absl::OkStatus());
  std::vector<std::string> arguments = {procs::FindProgram("bench/control/control_swarm").value(),
                                        cluster.planner_address(), absl::StrCat(nodes)};
  if (have_certificates) arguments.push_back("authority=" + cluster.CertificatesFolder());
  const auto swarm =
      procs::ChildProcess::Start({.arguments = arguments, .stdin_pipe = true, .stdout_pipe = true}).value();
  const std::string all = absl::StrCat("registered=", nodes);
  const auto answer = [&](const std::string& command) {
    EXPECT_TRUE(swarm->Write(command + "\n").ok());
    return swarm->ReadLine(kSettle).value_or("no answer");
  };
  EXPECT_THAT(answer("connect 60"), Names(all, "refused=0"));
  const auto stats = cluster.admin().GetStats("", kSettle);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->stats_size(), static_cast<int>(nodes) + 1);
  EXPECT_EQ(stats->silent_size(), 0);
  EXPECT_THAT(answer("teams 20 1"), Names("aborted=0", "p99_ms="));
  EXPECT_THAT(answer("world 60"), Names("formed=1", "aborted=0"));
  EXPECT_THAT(answer("ranks 4 60"), Names("formed=1", "aborted=0"));
  EXPECT_THAT(answer("lose"), Names(absl::StrCat("lost=", nodes)));
  cluster.KillPlanner();
  ASSERT_TRUE(cluster.RestartPlanner().ok());
  EXPECT_THAT(answer("back 60"), Names(all, "broken=0", "ended=0"));
  EXPECT_TRUE(cluster.CheckAlive().ok());
}

TEST(ControlSwarmTest, FormsTeamsAndReturnsToARestartedPlanner) { FormTeamsAndReturn(16, /*have_certificates=*/false); }

TEST(ControlSwarmTest, DaemonsWithCertificatesDoSoToo) { FormTeamsAndReturn(300, /*have_certificates=*/true); }

// They are too many to be asked, and report: a real daemon does so when it registers.
TEST(ControlSwarmTest, ManyDaemonsHaveReportedTheirCounters) {
  procs::ProcessCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 1}).ok());
  const std::string program = procs::FindProgram("bench/control/control_swarm").value();
  const auto swarm =
      procs::ChildProcess::Start(
          {.arguments = {program, cluster.planner_address(), "300"}, .stdin_pipe = true, .stdout_pipe = true})
          .value();
  ASSERT_TRUE(swarm->Write("connect 60\n").ok());
  EXPECT_THAT(swarm->ReadLine(kSettle).value_or("no answer"), Names("registered=300"));
  const auto stats = cluster.admin().GetStats("", kSettle);
  ASSERT_TRUE(stats.ok()) << stats.status();
  ASSERT_EQ(stats->stats_size(), 301);
  for (const v1::NodeStats& row : stats->stats()) {
    EXPECT_TRUE(row.has_age_s()) << row.node();
    EXPECT_TRUE(row.node() != cluster.NodeName(0) || row.counters().at("loop.turns") > 0) << row.node();
  }
}

TEST(ControlSwarmTest, ARankAtARealDaemonTakesPart) {
  procs::ProcessCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 1}).ok());
  const std::string program = procs::FindProgram("bench/control/control_swarm").value();
  const auto swarm =
      procs::ChildProcess::Start(
          {.arguments = {program, cluster.planner_address(), "8"}, .stdin_pipe = true, .stdout_pipe = true})
          .value();
  const auto answer = [&](const std::string& command) {
    EXPECT_TRUE(swarm->Write(command + "\n").ok());
    return swarm->ReadLine(kSettle).value_or("no answer");
  };
  EXPECT_THAT(answer("connect 60"), Names("registered=8", "refused=0"));
  const uint32_t process = cluster.Launch(
      {{.node = 0, .script = {{.kind = scenario::StepKind::kTeam, .name = "beside", .rank = 8, .size = 9}}}});
  EXPECT_THAT(answer(absl::StrCat("beside 60 ", getuid(), " scenario beside")), Names("formed=1", "aborted=0"));
  ASSERT_TRUE(cluster.AwaitOutcomes(process, 1, kSettle).ok());
  EXPECT_EQ(cluster.Outcomes(process)[0].failure, schedule::Failure::kNone);
  const auto stats = cluster.admin().GetStats(cluster.NodeName(0), kSettle);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_GT(stats->stats(0).counters().at("daemon.prepare_max_us"), 0u);
  EXPECT_EQ(stats->stats(0).counters().count("loop.turn_max_us"), 1u);
}

// A machine that builds beside it takes the processor for longer than the daemons are given.
TEST(ControlSwarmTest, DaemonsHaveTheirTimeAfterTheLastStreamHasBegun) {
  procs::ProcessCluster cluster;
  ASSERT_TRUE(cluster.Start({.nodes = 1}).ok());
  const std::string program = procs::FindProgram("bench/control/control_swarm").value();
  const auto swarm =
      procs::ChildProcess::Start(
          {.arguments = {program, cluster.planner_address(), "1500"}, .stdin_pipe = true, .stdout_pipe = true})
          .value();
  ASSERT_TRUE(swarm->Write("lose\n").ok());
  EXPECT_THAT(swarm->ReadLine(kSettle).value_or("no answer"), Names("lost=0"));  // it is ready
  ASSERT_TRUE(swarm->Write("connect 10\n").ok());
  cluster.Pass(absl::Milliseconds(100));  // it has begun some streams
  swarm->Signal(SIGSTOP);
  cluster.Pass(absl::Seconds(11));
  swarm->Signal(SIGCONT);
  EXPECT_THAT(swarm->ReadLine(kSettle).value_or("no answer"), Names("registered=1500", "refused=0"));
}

}  // namespace
}  // namespace copse::bench
