// SPDX-License-Identifier: Apache-2.0
//
// The real program, from its command line: bad usage, start, signals, state. integration_tests tests teams on it with
// real daemons.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

struct Ended {
  int code = -1;
  std::string output;  // both streams
};

class CopsePlannerTest : public ::testing::Test {
 protected:
  CopsePlannerTest()
      : folder_(std::string(getenv("TEST_TMPDIR")) + "/" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    EXPECT_EQ(mkdir(folder_.c_str(), 0700), 0);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // Runs the program to its end.
  static Ended Run(const std::string& arguments) {
    Ended ended;
    FILE* pipe = popen(("planner/server/copse-planner --set listen=127.0.0.1:0 " + arguments + " 2>&1").c_str(), "r");
    std::array<char, 4096> buffer;
    size_t bytes = 0;
    while ((bytes = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) ended.output.append(buffer.data(), bytes);
    const int status = pclose(pipe);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  }

  // Runs the program until it reports ready, then sends `signal`; returns how it ended. If `hangs_up`, nobody reads its
  // output from then on.
  Ended RunUntilReady(const std::string& state, int signal, bool hangs_up = false) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      close(out[0]);
      ::signal(SIGPIPE, SIG_DFL);  // the test may have been started with another action
      dup2(out[1], 1);
      dup2(out[1], 2);
      const std::string set = "state=" + state;
      execl("planner/server/copse-planner", "copse-planner", "--set", "listen=127.0.0.1:0", "--set", set.c_str(),
            nullptr);
      _exit(127);
    }
    close(out[1]);
    Ended ended;
    std::array<char, 4096> buffer;
    const auto more = [&] {
      const ssize_t bytes = read(out[0], buffer.data(), buffer.size());
      if (bytes > 0) ended.output.append(buffer.data(), static_cast<size_t>(bytes));
      return bytes > 0;
    };
    while (ended.output.find("listen=127.0.0.1:") == std::string::npos && more()) {
    }
    if (hangs_up) close(out[0]);
    kill(pid, signal);
    while (!hangs_up && more()) {
    }
    if (!hangs_up) close(out[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  }

  const std::string folder_;
};

TEST_F(CopsePlannerTest, HelpVersionAndConfiguration) {
  EXPECT_EQ(Run("--help").code, 0);
  EXPECT_EQ(Run("--version").code, 0);
  const Ended printed = Run("--print-config");
  EXPECT_EQ(printed.code, 0);
  EXPECT_NE(printed.output.find("team_formation_timeout"), std::string::npos);
  EXPECT_EQ(Run("--check-config").code, 0);
}

TEST_F(CopsePlannerTest, WhatItSaysNamesTheValueAndIsTwoIfTryingAgainIsOfNoUse) {
  const std::string topology =
      Write("t.yaml", "version: 1\nswitches:\n  - {name: a, parent: b}\n  - {name: b, parent: a}\n");
  const std::string rules = Write("r.yaml", "version: 1\nrules:\n  - {collective: bcast, algorithm: bush}\n");
  const struct {
    std::string arguments, word;
    int code = 2;
  } cases[] = {
      {"--nonsense", "nonsense"},
      {"--set nonsense=1", "nonsense"},
      {"--set window=3", "window=3"},
      {"--set window=0", "value=0"},
      {"--set node_timeout=never", "never"},
      {"--set listen=0.0.0.0:0", "insecure: true"},
      {"--set listen=nowhere", "nowhere"},
      {"--check-config --set listen=unix:/tmp/x", "unix:/tmp/x"},
      {"--config " + folder_, "(file=" + folder_ + ")", 1},
      {"--config /bin/true", "file=/bin/true"},
      {"--set topology=/nowhere/t.yaml", "topology=/nowhere/t.yaml", 1},
      {"--set topology=" + topology, "t.yaml:"},
      {"--set topology=" + folder_, "topology=" + folder_, 1},
      {"--set rules=" + rules, "r.yaml:3:"},
      {"--set rules=" + Write("none.yaml", ""), "the file is empty (rules=" + folder_ + "/none.yaml)", 1},
      {"--set join_token_file=/nowhere/token", "join_token_file", 1},
      {"--set state=/nowhere/state.db", "(state=/nowhere/state.db)", 1},
      {"--set log_file=/nowhere/log", "(log_file=/nowhere/log)", 1},
      {"--set tls_cert=/nowhere/p.pem --set tls_key=/nowhere/p.key --set tls_ca=/nowhere/ca.pem", "tls_cert=/nowhere",
       1},
      {"--config /nowhere/planner.yaml", "/nowhere/planner.yaml", 1},
  };
  for (const auto& c : cases) {
    for (const char* check : {"", " --check-config"}) {
      const Ended ended = Run(c.arguments + check);
      EXPECT_EQ(ended.code, c.code) << c.arguments << check << ": " << ended.output;
      EXPECT_NE(ended.output.find(c.word), std::string::npos) << c.arguments << check << ": " << ended.output;
      EXPECT_EQ(ended.output.find("copse-planner: "), 0u) << ended.output;
    }
  }
}

TEST_F(CopsePlannerTest, EndsOnSignalsAndItsStateOpensAgain) {
  const std::string state = folder_ + "/state.db";
  EXPECT_EQ(RunUntilReady(state, SIGTERM).code, 0);
  EXPECT_EQ(RunUntilReady(state, SIGINT).code, 0);
  EXPECT_EQ(RunUntilReady(state, SIGKILL).code, 128 + SIGKILL);
  EXPECT_EQ(RunUntilReady(state, SIGTERM).code, 0) << "also after it was killed";
}

TEST_F(CopsePlannerTest, EndsInOrderAlsoIfNobodyReadsItsLog) {
  EXPECT_EQ(RunUntilReady(folder_ + "/state.db", SIGTERM, /*hangs_up=*/true).code, 0);
}

TEST_F(CopsePlannerTest, APortFileThatCannotBeWrittenLeavesNothingBehind) {
  const std::string port_file = folder_ + "/port";
  ASSERT_EQ(mkdir(port_file.c_str(), 0700), 0);
  const Ended ended = Run("--port-file " + port_file);
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.output.find("(port-file=" + port_file + ")"), std::string::npos) << ended.output;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(CopsePlannerTest, AnEmptySavedStateIsReadAndIsNoState) {
  const std::string empty = Write("saved", "");
  const Ended ended = Run("--restore " + empty + " --set state=" + folder_ + "/state.db");
  EXPECT_EQ(ended.code, 2) << "what cannot be read is worth another try";
  EXPECT_NE(ended.output.find("(restore=" + empty + ")"), std::string::npos) << ended.output;
}

TEST_F(CopsePlannerTest, StateThatIsNoState) {
  const std::string state = Write("state.db", std::string(4096, 'x'));
  const Ended ended = Run("--set state=" + state);
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.output.find("(state=" + state + ")"), std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find('\n'), ended.output.size() - 1) << ended.output;
}

}  // namespace
}  // namespace copse::planner
