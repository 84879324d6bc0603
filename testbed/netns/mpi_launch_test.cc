// SPDX-License-Identifier: Apache-2.0
//
// Tests both MPI libraries across nodes with namespaces, and on this host alone. The first needs root.
#include "testbed/netns/mpi_launch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "testbed/netns/user_place.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"
#include "testbed/processes/temp_folder.h"

namespace copse::netns {
namespace {

using procs::ChildProcess;

constexpr absl::Duration kPatience = absl::Minutes(2);
using Lines = std::vector<std::string>;

class MpiLaunchTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    job_.library = *ParseMpiLibrary(GetParam());
    const absl::StatusOr<std::string> program =
        procs::FindProgram(absl::StrCat("testbed/netns/mpi_hello_", GetParam()));
    ASSERT_TRUE(program.ok()) << program.status();
    job_.command = {*program};
  }

  // Returns the output, with the exit code as the last line.
  Lines Run(const MpiPlace& place) {
    const absl::StatusOr<MpiCommand> command = MakeMpiCommand(place, job_);
    if (!command.ok()) return {command.status().ToString()};
    const auto child = ChildProcess::Start(
        {.arguments = command->arguments, .environment = command->environment, .stdout_pipe = true});
    if (!child.ok()) return {child.status().ToString()};
    Lines lines;
    if (!(*child)->ReadToEnd(kPatience, &lines).ok()) return {"does not end"};
    lines.push_back(absl::StrCat((*child)->exit_code()));
    return lines;
  }

  procs::TempFolder folder_;
  MpiJob job_;
};

TEST_P(MpiLaunchTest, FourNodesWithTwoRanksEach) {
  if (const absl::Status possible = CheckNamespaces(false); !possible.ok()) GTEST_SKIP() << possible.message();
  const auto network = TestNetwork::Create({.nodes = 4, .folder = folder_.path()});
  ASSERT_TRUE(network.ok()) << network.status();
  job_.ranks = 8;
  job_.ppn = 2;
  job_.copse = true;
  EXPECT_EQ(Run(PlaceOn(**network, folder_.path())),
            (Lines{"n1 0 -", "n1 1 -", "n2 2 -", "n2 3 -", "n3 4 -", "n3 5 -", "n4 6 -", "n4 7 -", "sum 36", "0"}));
  job_.in_turn = true;
  EXPECT_EQ(Run(PlaceOn(**network, folder_.path())),
            (Lines{"n1 0 -", "n2 1 -", "n3 2 -", "n4 3 -", "n1 4 -", "n2 5 -", "n3 6 -", "n4 7 -", "sum 36", "0"}));
  job_.in_turn = false;
  // The job covers half a node, an environment, and an exit code.
  job_.ranks = 3;
  job_.environment["COPSE_SOCKET"] = "/a b";
  job_.command.push_back("3");
  EXPECT_EQ(Run(PlaceOn(**network, folder_.path())), (Lines{"n1 0 /a b", "n1 1 /a b", "n2 2 /a b", "sum 6", "3"}));
}

TEST_P(MpiLaunchTest, AUserWithoutPrivilegesLaunchesOnNodes) {
  if (const absl::Status possible = CheckNamespaces(false); !possible.ok()) GTEST_SKIP() << possible.message();
  const auto network = TestNetwork::Create({.nodes = 2, .folder = folder_.path()});
  ASSERT_TRUE(network.ok()) << network.status();
  const std::string hello = absl::StrCat("mpi_hello_", GetParam());
  const auto user = UserPlace::Create(**network, {{"testbed/netns/" + hello, "programs"}});
  ASSERT_TRUE(user.ok()) << user.status();
  job_.ranks = 2;
  job_.command = {absl::StrCat((*user)->folder(), "/programs/", hello)};
  EXPECT_EQ(Run((*user)->place()), (Lines{"n1 0 -", "n2 1 -", "sum 3", "0"}));
  job_.ranks = 1;
  job_.command = {"/bin/sh", "-c", "id -u; grep CapEff /proc/self/status"};
  EXPECT_EQ(Run((*user)->place()), (Lines{"65534", "CapEff:\t0000000000000000", "0"}));
}

TEST_P(MpiLaunchTest, LoopbackDealsRanksToNodes) {
  char host[64] = {};
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  job_.ranks = 3;
  job_.ppn = 2;
  job_.copse = true;
  const MpiPlace place = {.hosts = {"n0", "n1"}, .folder = folder_.path(), .sockets = {"/s0", "/s1"}};
  EXPECT_EQ(Run(place), (Lines{absl::StrCat(host, " 0 /s0"), absl::StrCat(host, " 1 /s0"), absl::StrCat(host, " 2 /s1"),
                               "sum 6", "0"}));
}

TEST_P(MpiLaunchTest, BadJobsAreNamed) {
  const MpiPlace place = {.hosts = {"n0", "n1"}};
  const auto refused = [&](const std::string& word) {
    const absl::Status status = MakeMpiCommand(place, job_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), word)) << status;
  };
  refused("no ranks (ranks=0, nodes=2)");
  job_.ranks = 5;
  job_.ppn = 2;
  refused("more ranks than places (ranks=5, limit=4: 2 nodes x 2)");
  job_.command.clear();
  refused("no command");
  EXPECT_TRUE(absl::StrContains(ParseMpiLibrary("mvapich").status().message(), "value=mvapich"));
}

INSTANTIATE_TEST_SUITE_P(Both, MpiLaunchTest, testing::Values("mpich", "openmpi"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace copse::netns
