// SPDX-License-Identifier: Apache-2.0
#include "base/process/crash_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

namespace copse {
namespace {

void Write(CrashWriter& writer, int signal, const void* context) {
  writer.Text(static_cast<const char*>(context));
  writer.Number(static_cast<uint64_t>(signal));
  writer.Text(" ");
  writer.Number(0);
  writer.Number(18446744073709551615u);
  writer.Bytes("\n\0", 2);
}

class CrashFileTest : public ::testing::Test {
 protected:
  // Returns the signal by which a child ends that writes a file when it crashes, and does this.
  int SignalOf(const std::function<void()>& crash) {
    const pid_t pid = fork();
    if (pid == 0) {
      const struct rlimit none = {};
      setrlimit(RLIMIT_CORE, &none);
      WriteFileOnCrash(path_, Write, "signal ");
      crash();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  std::string Content() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const std::string path_ = ::testing::TempDir() + "/crash_file_test_" + std::to_string(getpid());
};

TEST_F(CrashFileTest, IsWrittenWhateverEndsTheProcess) {
  const std::string rest = " 018446744073709551615\n" + std::string(1, '\0');
  std::ofstream(path_) << "an older one";
  EXPECT_EQ(SignalOf([] { abort(); }), SIGABRT);
  EXPECT_EQ(Content(), "signal 6" + rest);
  struct stat status = {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(SignalOf([] { kill(getpid(), SIGSEGV); }), SIGSEGV);
  EXPECT_EQ(Content(), "signal 11" + rest);
  unlink(path_.c_str());
}

TEST_F(CrashFileTest, IsWrittenBeforeAnEarlierHandlerRuns) {
  const int ended_by = SignalOf([] {
    struct sigaction action = {};
    action.sa_handler = [](int) { _exit(0); };
    sigaction(SIGILL, &action, nullptr);
    raise(SIGILL);
  });
  EXPECT_EQ(ended_by, 0) << "a handler that was installed later stays";
  EXPECT_EQ(Content(), "");
  signal(SIGFPE, [](int) { abort(); });
  EXPECT_EQ(SignalOf([] { raise(SIGFPE); }), SIGABRT) << "by the handler that was there before";
  signal(SIGFPE, SIG_DFL);
  EXPECT_EQ(Content().substr(0, 9), "signal 8 ") << "once";
  unlink(path_.c_str());
}

TEST_F(CrashFileTest, IsNotWrittenWithoutACrash) {
  EXPECT_EQ(SignalOf([] {}), 0);
  EXPECT_EQ(access(path_.c_str(), F_OK), -1);
}

}  // namespace
}  // namespace copse
