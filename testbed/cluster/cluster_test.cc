// SPDX-License-Identifier: Apache-2.0
//
// Tests tools/cluster's program from up to down, with bad input and with kills. Tests with namespaces need root.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"
#include "testbed/netns/leftovers.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"
#include "testbed/processes/temp_folder.h"

namespace copse::cluster {
namespace {

using copse::testing::Names;
using copse::testing::NamesMatcher;
using procs::ChildProcess;
using Words = std::vector<std::string>;

constexpr absl::Duration kPatience = absl::Minutes(2);

struct Result {
  int code = -1;
  std::string out, error;
};

class ClusterTest : public ::testing::Test {
 protected:
  void TearDown() override {
    Run({"down"});
    leftovers_.ExpectNone();
    EXPECT_EQ(netns::ProcessesWith(folder_.path()), Words());
  }

  std::unique_ptr<ChildProcess> Start(Words arguments, bool input = false) {
    const absl::StatusOr<std::string> program = procs::FindProgram("testbed/cluster/cluster");
    EXPECT_TRUE(program.ok()) << program.status();
    arguments.insert(arguments.begin(), *program);
    unlink(ErrorFile().c_str());
    auto child = ChildProcess::Start({.arguments = arguments,
                                      .environment = {{"COPSE_CLUSTER_DIR", Base()}},
                                      .stdin_pipe = input,
                                      .stdout_pipe = true,
                                      .log_file = ErrorFile()});
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }
  Result End(ChildProcess* child) {
    Result result;
    Words lines;
    EXPECT_TRUE(child->ReadToEnd(kPatience, &lines).ok());
    for (const std::string& line : lines) absl::StrAppend(&result.out, line, "\n");
    result.code = child->exit_code();
    result.error = procs::ContentOf(ErrorFile());
    return result;
  }
  Result Run(const Words& arguments) { return End(Start(arguments).get()); }

  // Expects the exit code, and the names in one line of errors.
  void Expect(int code, const NamesMatcher& names, const Words& arguments) {
    const Result result = Run(arguments);
    EXPECT_EQ(result.code, code) << absl::StrJoin(arguments, " ") << ": " << result.error;
    EXPECT_THAT(result.error, names) << absl::StrJoin(arguments, " ");
    EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    EXPECT_TRUE(absl::StartsWith(result.error, "tools/cluster: ")) << result.error;
  }

  bool CanNamespaces() { return netns::CheckNamespaces(false).ok(); }
  // Notes the namespaces of the first `nodes` nodes and of the switch, which must be gone in the end.
  void NoteNamespaces(int nodes) {
    const size_t before = leftovers_.noted();
    for (int node = 0; node <= nodes; ++node) {
      const std::string name = node == 0 ? "switch" : absl::StrCat("n", node);
      const Result result = Run({"exec", name, "readlink", "/proc/self/ns/net"});
      EXPECT_EQ(result.code, 0) << result.error;
      leftovers_.Note(result.out.substr(0, result.out.find('\n')));
    }
    EXPECT_EQ(leftovers_.noted() - before, static_cast<size_t>(nodes) + 1);
  }

  std::string Base() const { return folder_ / "base"; }
  std::string ErrorFile() const { return folder_ / "error"; }
  std::string Hello(const std::string& library) {
    return procs::FindProgram("testbed/netns/mpi_hello_" + library).value_or("no program");
  }
  // Returns the process that `up` recorded, once it has.
  pid_t AwaitPid() {
    const absl::Time deadline = absl::Now() + kPatience;
    pid_t pid = 0;
    while (!absl::SimpleAtoi(procs::ContentOf(Base() + "/default/pid"), &pid) && absl::Now() < deadline) {
    }
    return pid;
  }
  // Returns its child, which is the supervisor if it has a process namespace.
  pid_t ChildOf(pid_t pid) {
    pid_t child = 0;
    EXPECT_TRUE(absl::SimpleAtoi(procs::ContentOf(absl::StrCat("/proc/", pid, "/task/", pid, "/children")), &child));
    return child;
  }
  void KillAndAwait(pid_t victim, pid_t end) {
    const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, end, 0)));
    ASSERT_EQ(kill(victim, SIGKILL), 0);
    pollfd event = {pidfd.get(), POLLIN, 0};
    EXPECT_EQ(poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(kPatience))), 1);
  }

  procs::TempFolder folder_;
  netns::Leftovers leftovers_;
};

TEST_F(ClusterTest, OnLoopback) {
  Expect(3, Names("state=absent", "name=default"), {"status"});
  const Result up = Run({"up", "--nodes", "2", "--ppn", "2"});
  ASSERT_EQ(up.code, 0) << up.error;
  EXPECT_TRUE(absl::StrContains(up.out, "COPSECTL_ENDPOINT=127.0.0.1:")) << up.out;
  Expect(1, Names("name=default"), {"up"});
  Expect(3, Names("state=absent", "name=other"), {"--name", "other", "exec", "n1", "true"});

  const Result status = Run({"status"});
  EXPECT_EQ(status.code, 0) << status.error;
  EXPECT_TRUE(absl::StrContains(status.out, "n2           ready")) << status.out;
  const Result socket = Run({"exec", "n2", "sh", "-c", "echo $COPSE_SOCKET; copsectl node list; exit 7"});
  EXPECT_EQ(socket.code, 7) << socket.error;
  EXPECT_TRUE(absl::StrContains(socket.out, "/n1.sock\n") && absl::StrContains(socket.out, "n2    ready"))
      << socket.out;
  Expect(2, Names("node=n3", "limit=n1,n2"), {"exec", "n3", "true"});
  Expect(127, Names("command: "), {"exec", "n1", "/no/such/program"});
  for (const std::string library : {"mpich", "openmpi"}) {
    const Result mpi = Run({"mpirun", library, "-n", "3", "--copse", Hello(library)});
    EXPECT_EQ(mpi.code, 0) << mpi.error;
    EXPECT_TRUE(absl::StrContains(mpi.out, "/n0.sock\n") && absl::StrContains(mpi.out, " 2 /") &&
                absl::StrContains(mpi.out, "/n1.sock\nsum 6\n"))
        << mpi.out;
    const Result shim = Run({"mpirun", library, "-n", "2", "--copse", "env", "COPSE_MPI_STATS=1", Hello(library)});
    EXPECT_THAT(shim.error, Names("copse-mpi: ", "rank 0 of 2"));
  }
  Expect(2, Names("ranks=5", "limit=4"), {"mpirun", "mpich", "-n", "5", "true"});
  const Result down = Run({"down"});
  EXPECT_EQ(down.code, 0) << down.error;
  EXPECT_TRUE(std::filesystem::is_empty(Base()));
  EXPECT_THAT(Run({"down"}).out, Names("state=absent", "name=default"));
}

TEST_F(ClusterTest, OnNamespaces) {
  if (!CanNamespaces()) GTEST_SKIP() << netns::CheckNamespaces(false).message();
  const Result up = Run({"up", "--nodes", "3", "--rate", "500mbit"});
  ASSERT_EQ(up.code, 0) << up.error;
  NoteNamespaces(3);
  const Result status = Run({"status"});
  EXPECT_EQ(status.code, 0) << status.error;
  EXPECT_TRUE(absl::StrContains(status.out, "n3           ready        10.77.0.3       10.76.0.3       @copse"))
      << status.out;
  const Result inside = Run({"exec", "n2", "--", "sh", "-c", "hostname; pwd; echo \"[$COPSE_SOCKET]\"; copsectl ping"});
  EXPECT_EQ(inside.code, 0) << inside.error;
  EXPECT_TRUE(absl::StartsWith(inside.out, absl::StrCat("n2\n", std::filesystem::current_path().string(), "\n[]\n")))
      << inside.out;
  for (const std::string library : {"mpich", "openmpi"}) {
    const Result mpi = Run({"mpirun", library, "-n", "6", "--ppn", "2", "--copse", Hello(library)});
    EXPECT_EQ(mpi.out, "n1 0 -\nn1 1 -\nn2 2 -\nn2 3 -\nn3 4 -\nn3 5 -\nsum 21\n") << mpi.error;
    EXPECT_EQ(mpi.code, 0) << mpi.error;
  }
  const Result perftest =
      Run({"mpirun", "openmpi", "-n", "6", "--copse", "copse-perftest", "-c", "barrier", "-n", "10"});
  EXPECT_EQ(perftest.code, 0) << perftest.error;
  EXPECT_TRUE(absl::StrContains(perftest.out, "barrier")) << perftest.out;
  // Processes that still run in a node end with it.
  const std::unique_ptr<ChildProcess> left = Start({"exec", "n1", "sh", "-c", "echo here; cat"}, /*input=*/true);
  EXPECT_EQ(left->ReadLine(kPatience).value_or(""), "here");
  EXPECT_EQ(Run({"down"}).code, 0);
  EXPECT_EQ(End(left.get()).code, 128 + SIGKILL);
}

TEST_F(ClusterTest, OnAFabric) {
  if (const absl::Status possible = netns::CheckNamespaces(true); !possible.ok()) GTEST_SKIP() << possible.message();
  const std::string topology = folder_ / "topology.yaml";
  std::ofstream(topology) << "version: 1\nswitches: [{name: core}, {name: rack1, parent: core, latency: 1ms}]\n"
                             "nodes: [{name: 'n[1-2]', switch: core}, {name: 'n[3-4]', switch: rack1}]\n";
  const Result up = Run({"up", "--fabric", topology});
  ASSERT_EQ(up.code, 0) << up.error;
  NoteNamespaces(4);
  EXPECT_TRUE(absl::StrContains(Run({"status"}).out, "n4           ready"));
  EXPECT_TRUE(absl::StrContains(Run({"exec", "n1", "copsectl", "topo", "show"}).out, "rack1")) << "the planner's too";
  const Result mpi = Run({"mpirun", "openmpi", "-n", "4", Hello("openmpi")});
  EXPECT_EQ(mpi.out, "n1 0 -\nn2 1 -\nn3 2 -\nn4 3 -\nsum 10\n") << mpi.error;
  EXPECT_EQ(Run({"down"}).code, 0);
  std::ofstream(topology, std::ios::app) << "fabric: {mtu: 3}\n";
  Expect(2, Names("topology.yaml:4"), {"up", "--fabric", topology});
}

TEST_F(ClusterTest, BadInputIsNamed) {
  Expect(2, Names("usage: ", "VERB"), {});
  Expect(2, Names("usage: ", "argument=sideways", "--help"), {"sideways"});
  Expect(2, Names("usage: --nodes"), {"up", "--nodes", "0"});
  Expect(2, Names("usage: --nodes"), {"up", "--nodes", "many"});
  Expect(2, Names("rate: ", "value=fast"), {"up", "--rate", "fast"});
  Expect(2, Names("rate: ", "value=1kbit"), {"up", "--rate", "1kbit"});
  Expect(2, Names("fabric: ", "file=/no/such/file"), {"up", "--fabric", "/no/such/file"});
  Expect(2, Names("--fabric"), {"up", "--fabric", "/x", "--rate", "1mbit"});
  const std::string topology = folder_ / "topology.yaml";
  std::ofstream(topology) << "version: 1\nnodes:\n  - {name: a, switch: nowhere}\n";
  Expect(2, Names("topology.yaml:1: switches: "), {"up", "--fabric", topology});
  std::ofstream(topology) << "version: 1\nswitches:\n  - {name: core}\nnodes:\n  - {name: \"n[1-2]\", switch: core}\n";
  Expect(2, Names("--nodes: ", "value=3", "fabric=2"), {"up", "--nodes", "3", "--fabric", topology});
  Expect(2, Names("--name: ", "value=../x"), {"--name", "../x", "up"});
  Expect(2, Names("exec: "), {"exec", "n1"});
  Expect(2, Names("value=mvapich"), {"mpirun", "mvapich", "-n", "1", "true"});
  Expect(2, Names("usage: -n"), {"mpirun", "mpich", "-n", "0", "true"});
  // A folder that other users may write is not trusted.
  std::filesystem::create_directory(Base());
  std::filesystem::permissions(Base(), std::filesystem::perms::all);
  Expect(1, Names("folder=" + Base()), {"up"});
  std::filesystem::permissions(Base(), std::filesystem::perms::owner_all);
}

TEST_F(ClusterTest, ADeadSupervisorLeavesFilesOnlyAndUpCleansThem) {
  for (const bool spaces : {false, true}) {
    if (spaces && !CanNamespaces()) continue;
    Words up = {"up", "--nodes", "3"};
    if (spaces) up.push_back("--netns");
    ASSERT_EQ(Run(up).code, 0);
    if (spaces) NoteNamespaces(3);
    const pid_t pid = AwaitPid();
    KillAndAwait(spaces ? ChildOf(pid) : pid, pid);
    Expect(3, Names("state=crashed", "name=default"), {"exec", "n1", "true"});
    const Result again = Run(up);
    EXPECT_EQ(again.code, 0) << again.error;
    EXPECT_THAT(again.error, Names("tools/cluster: up: ", "state=crashed"));
    EXPECT_EQ(Run({"status"}).code, 0);
    const pid_t next = AwaitPid();
    KillAndAwait(next, next);
    EXPECT_THAT(Run({"down"}).out, Names("state=crashed", "name=default"));
    EXPECT_TRUE(std::filesystem::is_empty(Base()));
  }
}

TEST_F(ClusterTest, AnInterruptedUpLeavesNothing) {
  if (!CanNamespaces()) GTEST_SKIP() << netns::CheckNamespaces(false).message();
  for (const int number : {SIGINT, SIGTERM}) {
    const std::unique_ptr<ChildProcess> up = Start({"up", "--nodes", "64", "--netns"});
    AwaitPid();
    Expect(1, Names("state=half-up", "name=default"), {"status"});
    up->Signal(number);
    EXPECT_EQ(End(up.get()).code, 128 + number);
    EXPECT_TRUE(std::filesystem::is_empty(Base()));
    EXPECT_EQ(netns::ProcessesWith(folder_.path()), Words());
  }
  // Killed, `up` cannot clean up; but its processes end with it.
  const std::unique_ptr<ChildProcess> up = Start({"up", "--nodes", "64", "--netns"});
  const pid_t pid = AwaitPid();
  KillAndAwait(up->pid(), pid);
  Expect(3, Names("state=crashed", "name=default"), {"status"});
}

}  // namespace
}  // namespace copse::cluster
