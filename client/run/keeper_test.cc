// SPDX-License-Identifier: Apache-2.0
#include "client/run/keeper.h"

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "client/run/kept_program.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

// Keeps a program until the job has ended.
class KeptSleep : public Kept {
 public:
  KeptSleep(const std::string& program, const std::string& folder, int job)
      : program_(program), folder_(folder), job_(job) {}

  absl::StatusOr<std::string> Start() override {
    kept_ = std::make_unique<KeptProgram>(program_, folder_, std::vector<std::string>());
    return kept_->AwaitReady(kPatience, job_);
  }
  void AwaitEnd() override {
    pollfd ended = {.fd = job_, .events = POLLIN, .revents = 0};
    poll(&ended, 1, -1);
  }

 private:
  const std::string program_, folder_;
  const int job_;
  std::unique_ptr<KeptProgram> kept_;
};

// Traces a process and all that it starts, up to programs that they execute, and may kill one at a system call.
class Tracer {
 public:
  enum class Kill { kProcess, kGroup };

  // Runs `job` in a process of its own group. Returns once all of its processes have ended; false if they have made
  // fewer system calls than `at`, none of which was hindered.
  bool Run(const std::function<void()>& job, int at, Kill kill) {
    job_ = fork();
    if (job_ == 0) {
      setpgid(0, 0);
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      job();
      _exit(0);
    }
    waitpid(job_, nullptr, 0);
    ptrace(PTRACE_SETOPTIONS, job_, nullptr,
           PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
               PTRACE_O_EXITKILL);
    seen_ = {job_};
    ptrace(PTRACE_SYSCALL, job_, nullptr, nullptr);
    int calls = 0;
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) return calls >= at;
      if (!WIFSTOPPED(status)) continue;
      if (IsCall(pid, status) && ++calls == at) ::kill(kill == Kill::kGroup ? -job_ : pid, SIGKILL);
      Continue(pid, status);
    }
  }

 private:
  static bool IsCall(pid_t pid, int status) {
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) return false;
    __ptrace_syscall_info info;
    const long bytes = ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
    return bytes > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY;
  }
  void Continue(pid_t pid, int status) {
    const bool is_new = seen_.insert(pid).second;
    const int signal = WSTOPSIG(status);
    const bool executed = status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8));
    if (executed) programs_.insert(pid);
    const bool own = is_new || (signal & 0x7f) == SIGTRAP;  // not for the process
    ptrace(programs_.count(pid) != 0 ? PTRACE_CONT : PTRACE_SYSCALL, pid, nullptr, own ? 0 : signal);
  }

  pid_t job_ = -1;
  std::set<pid_t> seen_, programs_;
};

class KeeperTest : public ::testing::Test {
 protected:
  KeeperTest() {
    std::filesystem::remove_all(parent_);
    std::filesystem::create_directory(parent_);
    std::ofstream(program_) << "#!/bin/sh -e\n: > \"$4.new\"\nmv \"$4.new\" \"$4\"\nexec sleep 1000\n";
    chmod(program_.c_str(), 0700);
  }
  // Asks for a keeper until the calling process has ended, and does so at once.
  void Ask() const {
    const UniqueFd job = PidFd(getpid());
    StartKeeper(parent_ + "/copse-run-x", job.get(), [&]() {
      return std::make_unique<KeptSleep>(program_, parent_ + "/copse-run-x", job.get());
    }).IgnoreError();
  }
  std::set<std::string> Left() const {
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(parent_)) left.insert(entry.path());
    return left;
  }
  // Kills at each `every`-th system call, in a job of its own. Returns how often.
  int KillAtCalls(int every, Tracer::Kill kill, const std::function<void()>& job) {
    int jobs = 0;
    for (int at = every; !HasFailure() && Tracer().Run(job, at, kill); at += every) {
      EXPECT_EQ(Left(), std::set<std::string>()) << "killed at system call " << at;
      ++jobs;
    }
    return jobs;
  }

  const std::string parent_ = ::testing::TempDir() + "/keeper_test",
                    program_ = ::testing::TempDir() + "/keeper_test.sh";
};

TEST_F(KeeperTest, NothingIsLeftWhicheverProcessIsKilledAtWhicheverSystemCall) {
  EXPECT_GT(KillAtCalls(1, Tracer::Kill::kProcess, [this] { Ask(); }), 50);
}

TEST_F(KeeperTest, NothingIsLeftOfAJobWhoseProcessesAreAllKilled) {
  EXPECT_GT(KillAtCalls(3, Tracer::Kill::kGroup, [this] { Ask(); }), 15);
}

TEST_F(KeeperTest, NothingIsLeftOfTwoThatAskAtOnceOneOfWhomIsKilled) {
  const auto both = [this] {
    const pid_t other = fork();
    Ask();
    if (other == 0) _exit(0);
    waitpid(other, nullptr, 0);
  };
  EXPECT_GT(KillAtCalls(5, Tracer::Kill::kProcess, both), 15);
}

}  // namespace
}  // namespace copse::run
