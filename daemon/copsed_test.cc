// SPDX-License-Identifier: Apache-2.0
//
// Tests the program as users run it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "daemon/rpc/testing/echo_planner.h"
#include "daemon/shm/testing/raw_client.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Await(const std::function<bool()>& done) {
  const absl::Time until = absl::Now() + absl::Seconds(20);
  while (!done()) {
    if (absl::Now() > until) return false;
    sched_yield();
  }
  return true;
}

// One run of copsed, with its output in files.
class Copsed {
 public:
  explicit Copsed(const std::vector<std::string>& arguments) {
    static int number = 0;
    base_ = absl::StrCat(::testing::TempDir(), "/copsed_", getpid(), "_", ++number);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open((base_ + ".out").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open((base_ + ".err").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), STDERR_FILENO);
    std::vector<char*> argv = {const_cast<char*>("copsed")};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv("daemon/copsed", argv.data());
    _exit(99);
  }
  ~Copsed() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void Signal(int signal) { kill(pid_, signal); }
  // Returns its exit code; 1000 if it does not end.
  int Exit() {
    int status = 0;
    if (!Await([&] { return waitpid(pid_, &status, WNOHANG) == pid_; })) return 1000;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::string out() const { return ReadAll(base_ + ".out"); }
  std::string err() const { return ReadAll(base_ + ".err"); }
  std::string port_file() const { return base_ + ".port"; }

 private:
  std::string base_;
  pid_t pid_;
};

class CopsedTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(planner_.Start(0)); }
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments;
    for (const std::string& setting : {absl::StrCat("node=", "n1"), absl::StrCat("planner=127.0.0.1:", planner_.port()),
                                       absl::StrCat("socket=", socket_), absl::StrCat("admin_listen=127.0.0.1:0")}) {
      arguments.push_back("--set");
      arguments.push_back(setting);
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // Returns a client, attached once the daemon listens.
  std::unique_ptr<RawClient> Attach() {
    std::unique_ptr<RawClient> client;
    EXPECT_TRUE(Await([&] {
      client = std::make_unique<RawClient>(socket_, [] { sched_yield(); });
      return client->connected();
    }));
    EXPECT_EQ(client->Attach().status, 0);
    return client;
  }

  EchoPlanner planner_;
  const std::string socket_ = absl::StrCat("@copsed_test_", getpid());
  const std::string copsed_port_ = absl::StrCat(::testing::TempDir(), "/copsed_address_", getpid());
};

TEST_F(CopsedTest, ServesClientsAndDrainsAtOnceWhenThereAreNone) {
  Copsed copsed(Arguments());
  auto client = Attach();
  for (uint64_t i = 0; i < 1000; ++i) {
    client->PostNop(i);
    const auto event = client->AwaitEvent();
    ASSERT_TRUE(event.has_value());
    ASSERT_EQ(event->value, i);
  }
  client.reset();
  copsed.Signal(SIGTERM);
  EXPECT_EQ(copsed.Exit(), 0) << copsed.err();
  EXPECT_THAT(copsed.err(), Names("node n1", absl::StrCat("version=", kVersion), "transport=ucx:tcp"));
}

TEST_F(CopsedTest, SaysThatItIsInsecure) {
  Copsed copsed(Arguments({"--set", "insecure=true"}));
  EXPECT_TRUE(Await([&] { return absl::StrContains(copsed.err(), "insecure: true"); })) << copsed.err();
  EXPECT_TRUE(absl::StrContains(copsed.err(), absl::StrCat("planner=127.0.0.1:", planner_.port()))) << copsed.err();
}

TEST_F(CopsedTest, TransportsOfTheEnvironmentAreUsed) {
  setenv("UCX_TLS", "nosuchtransport", 1);
  EXPECT_NE(Copsed(Arguments()).Exit(), 0);
  setenv("UCX_TLS", "posix,self", 1);
  Copsed copsed(Arguments());
  unsetenv("UCX_TLS");
  Attach();
  copsed.Signal(SIGTERM);
  EXPECT_EQ(copsed.Exit(), 0) << copsed.err();
  EXPECT_TRUE(absl::StrContains(copsed.err(), "transport=ucx:posix,self")) << copsed.err();
}

TEST_F(CopsedTest, WhatItDidLastIsLeftWhenItCrashes) {
  std::string folder = absl::StrCat(::testing::TempDir(), "/copsed_crash_XXXXXX");
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  Copsed copsed(Arguments({"--set", absl::StrCat("run_dir=", folder)}));
  const auto client = Attach();
  for (uint64_t i = 0; i < 100; ++i) {
    client->PostNop(i);
    ASSERT_TRUE(client->AwaitEvent().has_value());
  }
  copsed.Signal(SIGSEGV);
  EXPECT_NE(copsed.Exit(), 0);
  const std::string path = folder + "/copsed-n1.crash";
  EXPECT_THAT(copsed.err(), Names(path));
  const std::string left = ReadAll(path);
  EXPECT_EQ(left.rfind("copse-crash 1\nnode n1\nincarnation ", 0), 0u) << left.substr(0, 100);
  EXPECT_THAT(left, Names("\nsignal 11\n", "\ncounter loop.turns "));
  const size_t records = left.find("\nrecords ");
  ASSERT_NE(records, std::string::npos);
  const size_t begin = left.find('\n', records + 1) + 1;
  const size_t count = std::stoul(left.substr(records + sizeof("\nrecords ") - 1));
  EXPECT_GT(count, 0u);
  EXPECT_EQ(left.size() - begin, 32 * count);
}

TEST_F(CopsedTest, AnswersNopsWhileItSleeps) {
  Copsed copsed(Arguments());
  const auto client = Attach();
  std::vector<absl::Duration> waits(20);
  for (absl::Duration& wait : waits) {
    ASSERT_TRUE(Await([&] { return client->page()->sleeping.load() == 1; }));
    client->PostNop(7);
    const absl::Time posted = absl::Now();
    ASSERT_TRUE(client->AwaitEvent().has_value());
    wait = absl::Now() - posted;
  }
  // The doorbell has to wake the daemon, not the end of a bounded sleep. On a busy machine single waits are longer.
  std::sort(waits.begin(), waits.end());
  EXPECT_LT(waits[waits.size() / 2], absl::Milliseconds(50));
}

TEST_F(CopsedTest, OnlyAPlannerThatWillNotAskForItsAddressGetsItAtOnce) {
  for (const bool is_earlier : {false, true}) {
    if (is_earlier) planner_.BeEarlier();
    Copsed copsed(Arguments({"--port-file", copsed_port_}));
    ASSERT_TRUE(Await([&] { return access(copsed_port_.c_str(), F_OK) == 0; })) << copsed.err();
    EXPECT_EQ(planner_.worker_address().empty(), !is_earlier);
    unlink(copsed_port_.c_str());
  }
}

TEST_F(CopsedTest, RegistersAndWritesItsPort) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/copsed_port_", getpid());
  unlink(path.c_str());
  Copsed copsed(Arguments({"--port-file", path}));
  ASSERT_TRUE(Await([&] { return access(path.c_str(), F_OK) == 0; })) << copsed.err();
  EXPECT_EQ(ReadAll(path), planner_.admin_address() + "\n");
  EXPECT_TRUE(absl::StartsWith(planner_.admin_address(), "127.0.0.1:"));
  EXPECT_EQ(planner_.node(), "n1");
  EXPECT_THAT(copsed.err(), Names("node n1: ", "state=ready"));
}

TEST_F(CopsedTest, TellsThePlannerThatItDrainsAndThatItEnds) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/copsed_port_of_drain_", getpid());
  Copsed copsed(Arguments({"--port-file", path, "--set", "drain_timeout=1000s"}));
  ASSERT_TRUE(Await([&] { return access(path.c_str(), F_OK) == 0; })) << copsed.err();
  auto client = Attach();
  copsed.Signal(SIGTERM);
  ASSERT_TRUE(Await([&] { return planner_.stops() == "drains "; })) << copsed.err();
  client.reset();
  EXPECT_EQ(copsed.Exit(), 0);
  EXPECT_TRUE(Await([&] { return planner_.stops() == "drains ends "; })) << copsed.err();
}

TEST_F(CopsedTest, ServesWithoutAPlanner) {
  Copsed copsed(Arguments({"--set", "planner=127.0.0.1:1"}));
  const auto client = Attach();
  client->PostNop(1);
  EXPECT_TRUE(client->AwaitEvent().has_value());
  EXPECT_THAT(copsed.err(), ::testing::Not(Names("state=ready")));
}

TEST_F(CopsedTest, ADrainWaitsForClientsAndThenEnds) {
  Copsed copsed(Arguments({"--set", "drain_timeout=300ms"}));
  const auto client = Attach();
  copsed.Signal(SIGTERM);
  const auto closing = client->Receive<attach::Closing>(attach::MessageType::kClosing);
  ASSERT_TRUE(closing.has_value());
  EXPECT_THAT(closing->text, Names("node n1", "SIGTERM"));
  client->PostNop(1);
  EXPECT_TRUE(client->AwaitEvent().has_value());
  EXPECT_EQ(copsed.Exit(), 0);
  EXPECT_EQ(client->header()->closed.load(), 1u);
}

TEST_F(CopsedTest, ASecondSignalEndsTheDrain) {
  Copsed copsed(Arguments({"--set", "drain_timeout=1000s"}));
  const auto client = Attach();
  copsed.Signal(SIGTERM);
  ASSERT_TRUE(client->Receive<attach::Closing>(attach::MessageType::kClosing).has_value());
  copsed.Signal(SIGINT);
  EXPECT_EQ(copsed.Exit(), 0);
}

TEST_F(CopsedTest, ReloadsOnHangUp) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/copsed_", getpid(), ".yaml");
  std::ofstream(path) << "log_level: info\n";
  Copsed copsed(Arguments({"--config", path}));
  Attach();
  std::ofstream(path) << "log_level: loud\n";
  copsed.Signal(SIGHUP);
  EXPECT_TRUE(Await([&] { return absl::StrContains(copsed.err(), "value=loud"); })) << copsed.err();
  std::ofstream(path) << "log_level: debug\nclients_max: 3\n";
  copsed.Signal(SIGHUP);
  EXPECT_TRUE(Await([&] { return absl::StrContains(copsed.err(), "changed="); })) << copsed.err();
  EXPECT_THAT(copsed.err(), Names("key=log_level", "key=clients_max",
                                  absl::StrCat("uid=", getuid(), ", pid=", getpid()), "changed=clients_max,log_level"));
}

TEST_F(CopsedTest, TakesANewTokenOnHangUp) {
  const std::string token = absl::StrCat(::testing::TempDir(), "/token_", getpid());
  std::ofstream(token) << "old\n";
  chmod(token.c_str(), 0600);
  auto planner = std::make_unique<EchoPlanner>();
  ASSERT_TRUE(planner->Start(0));
  const int port = planner->port();
  Copsed copsed(Arguments({"--set", "join_token_file=" + token, "--set", absl::StrCat("planner=127.0.0.1:", port)}));
  Attach();
  ASSERT_TRUE(Await([&] { return planner->token() == "old"; })) << copsed.err();
  std::ofstream(token) << "new\nold\n";
  copsed.Signal(SIGHUP);
  ASSERT_TRUE(Await([&] { return absl::StrContains(copsed.err(), "changed="); })) << copsed.err();
  planner.reset();
  planner = std::make_unique<EchoPlanner>();
  ASSERT_TRUE(planner->Start(port));
  EXPECT_TRUE(Await([&] { return planner->token() == "new"; })) << copsed.err();
}

TEST_F(CopsedTest, WhatMayComeLaterIsTriedAgain) {
  // The service manager restarts a service that ended with 1 (TEST-NET-1).
  Copsed early(Arguments({"--set", "data_listen=192.0.2.1", "--set", "insecure=true"}));
  EXPECT_EQ(early.Exit(), 1);
  EXPECT_THAT(early.err(), Names("copsed: data_listen: ", "data_listen=192.0.2.1"));
  Copsed tokenless(Arguments({"--set", "join_token_file=/nowhere/token"}));
  EXPECT_EQ(tokenless.Exit(), 1);
}

TEST_F(CopsedTest, OnlyOneListensOnASocket) {
  Copsed first(Arguments());
  const auto client = Attach();
  Copsed second(Arguments());
  EXPECT_EQ(second.Exit(), 1);
  EXPECT_THAT(second.err(), Names("copsed: socket: ", "socket=" + socket_));
}

TEST_F(CopsedTest, ChecksItsConfiguration) {
  EXPECT_EQ(Copsed(Arguments({"--check-config"})).Exit(), 0);
  Copsed wide(Arguments({"--check-config", "--set", "data_listen=0.0.0.0"}));
  EXPECT_EQ(wide.Exit(), 2);
  EXPECT_TRUE(absl::StartsWith(wide.err(), "copsed: data_listen: ")) << wide.err();
  EXPECT_EQ(Copsed(Arguments({"--set", "admin_listen=0.0.0.0:0"})).Exit(), 2);
  EXPECT_EQ(Copsed(Arguments({"--set", "nokey=1"})).Exit(), 2);
  EXPECT_EQ(Copsed(Arguments({"--noflag"})).Exit(), 2);
  EXPECT_EQ(Copsed(Arguments({"--check-config", "--set", "data_listen=127.0.0.300"})).Exit(), 2);
  for (const std::vector<std::string>& start : {Arguments(), Arguments({"--check-config"})}) {
    const auto with = [&](const std::string& setting) {
      std::vector<std::string> arguments = start;
      arguments.insert(arguments.end(), {"--set", setting});
      return arguments;
    };
    Copsed nowhere(with("socket=/nowhere/at/all"));
    EXPECT_EQ(nowhere.Exit(), 1);
    EXPECT_THAT(nowhere.err(), Names("copsed: socket: ", "socket=/nowhere/at/all"));
    Copsed mute(with("log_file=/nowhere/log"));
    EXPECT_EQ(mute.Exit(), 1);
    EXPECT_THAT(mute.err(), Names("copsed: log_file: ", "log_file=/nowhere/log"));
  }
}

TEST_F(CopsedTest, PrintsKeysHelpAndVersion) {
  Copsed print({"--print-config"});
  EXPECT_EQ(print.Exit(), 0);
  EXPECT_TRUE(absl::StrContains(print.out(), "node_timeout:")) << print.out();
  Copsed help({"--help"});
  EXPECT_EQ(help.Exit(), 0);
  EXPECT_TRUE(absl::StrContains(help.out(), "--port-file FILE")) << help.out();
  Copsed version({"--version"});
  EXPECT_EQ(version.Exit(), 0);
  EXPECT_EQ(version.out(), absl::StrCat("copsed ", kVersion, "\n"));
}

}  // namespace
}  // namespace copse::daemon
