// SPDX-License-Identifier: Apache-2.0
#include "testbed/processes/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace copse::procs {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

std::unique_ptr<ChildProcess> Start(const ChildOptions& options) {
  auto child = ChildProcess::Start(options);
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

std::vector<std::string> RunShell(const std::string& command, ChildOptions options = {}) {
  options.arguments = {"/bin/sh", "-c", command};
  options.stdout_pipe = true;
  std::vector<std::string> lines;
  EXPECT_TRUE(Start(options)->ReadToEnd(kLong, &lines).ok());
  return lines;
}

TEST(ChildProcessTest, ExitCodeIsTheProgramsOr128PlusTheSignal) {
  const auto child = Start({.arguments = {"/bin/sh", "-c", "exit 3"}});
  ASSERT_TRUE(child->AwaitEnd(kLong).ok());
  EXPECT_EQ(child->exit_code(), 3);
  EXPECT_EQ(child->DescribeEnd(), "exit code 3");

  const auto waiting = Start({.arguments = {"/bin/cat"}, .stdin_pipe = true});
  EXPECT_FALSE(waiting->Ended());
  EXPECT_EQ(waiting->AwaitEnd(absl::Milliseconds(1)).code(), absl::StatusCode::kDeadlineExceeded);
  waiting->Signal(SIGTERM);
  ASSERT_TRUE(waiting->AwaitEnd(kLong).ok());
  EXPECT_EQ(waiting->exit_code(), 128 + SIGTERM);
}

TEST(ChildProcessTest, ClosingTheInputEndsAReader) {
  const auto child = Start({.arguments = {"/bin/cat"}, .stdin_pipe = true});
  child->CloseInput();
  ASSERT_TRUE(child->AwaitEnd(kLong).ok());
  EXPECT_EQ(child->exit_code(), 0);
}

TEST(ChildProcessTest, WhatIsWrittenIsRead) {
  const auto child = Start({.arguments = {"/bin/cat"}, .stdin_pipe = true, .stdout_pipe = true});
  ASSERT_TRUE(child->Write("a line\n").ok());
  EXPECT_EQ(child->ReadLine(kLong).value_or("none"), "a line");
}

TEST(ChildProcessTest, WritingToWhoHasGoneIsAnErrorAndNoSignal) {
  const auto child = Start({.arguments = {"/bin/true"}, .stdin_pipe = true});
  ASSERT_TRUE(child->AwaitEnd(kLong).ok());
  EXPECT_EQ(child->Write("a line\n").code(), absl::StatusCode::kUnavailable);
}

TEST(ChildProcessTest, SettingsOfOursDoNotReachIt) {
  setenv("COPSED_NODE", "elsewhere", 1);
  setenv("UNTOUCHED", "yes", 1);
  EXPECT_EQ(RunShell("echo $COPSED_NODE-$COPSE_SOCKET-$UNTOUCHED", {.environment = {{"COPSE_SOCKET", "here"}}}),
            std::vector<std::string>{"-here-yes"});
}

// Two services or jobs have separate sessions, by which the kernel divides processors (sched_autogroup).
TEST(ChildProcessTest, EachHasASessionOfItsOwn) {
  const auto child = Start({.arguments = {"/bin/cat"}, .stdin_pipe = true});
  EXPECT_EQ(getsid(child->pid()), child->pid());
}

TEST(ChildProcessTest, OutputGoesToTheLogUnlessPiped) {
  const std::string log = std::string(getenv("TEST_TMPDIR")) + "/log";
  EXPECT_EQ(RunShell("echo out; echo err >&2", {.log_file = log}), std::vector<std::string>{"out"});
  EXPECT_EQ(RunShell("cat", {.stdin_file = log}), std::vector<std::string>{"err"});
}

TEST(ChildProcessTest, LinesComeOneByOneAsTheyAreWritten) {
  const auto child = Start({.arguments = {"/bin/sh", "-c", "printf 'one\\ntwo\\nthr'; read x; echo ee"},
                            .stdin_pipe = true,
                            .stdout_pipe = true});
  EXPECT_EQ(child->ReadLine(kLong).value_or("none"), "one");
  EXPECT_EQ(child->ReadLine(kLong).value_or("none"), "two");
  EXPECT_EQ(child->ReadLine(absl::Milliseconds(1)).status().code(), absl::StatusCode::kDeadlineExceeded);
  child->CloseInput();
  EXPECT_EQ(child->ReadLine(kLong).value_or("none"), "three");
  EXPECT_EQ(child->ReadLine(kLong).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(ChildProcessTest, AMissingProgramIsNamed) {
  auto child = ChildProcess::Start({.arguments = {"/nonexistent/program"}});
  EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(child.status().message().find("/nonexistent/program"), std::string::npos);
  EXPECT_EQ(ChildProcess::Start({.arguments = {"/bin/cat"}, .stdin_file = "/nonexistent/input"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ChildProcessTest, TheDestructorKillsWhatStillRuns) {
  pid_t pid;
  {
    const auto child = Start({.arguments = {"/bin/cat"}, .stdin_pipe = true});
    pid = child->pid();
    child->Signal(SIGSTOP);  // even stopped ones
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

// A process in the middle starts one that never ends by itself, and is killed.
TEST(ChildProcessTest, ItDiesWithTheProcessThatStartedIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t middle = fork();
  ASSERT_GE(middle, 0);
  if (middle == 0) {
    dup2(ends[1], 1);  // which the grandchild inherits
    auto child = ChildProcess::Start({.arguments = {"/usr/bin/tail", "-f", "/dev/null"}});
    raise(SIGKILL);
  }
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // the end of the pipe: no process holds it any more
  close(ends[0]);
}

}  // namespace
}  // namespace copse::procs
