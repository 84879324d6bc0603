// SPDX-License-Identifier: Apache-2.0
#include "base/process/journal.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

// The test takes journald's place: it listens at journald's address, in a /run that only this process sees.
class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", "/run", "tmpfs", 0, "size=256k") != 0) {
      GTEST_SKIP() << "no file system can be mounted: " << strerror(errno);
    }
    ASSERT_EQ(mkdir("/run/systemd", 0700), 0);
    ASSERT_EQ(mkdir("/run/systemd/journal", 0700), 0);
    journald_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address = {AF_UNIX, "/run/systemd/journal/socket"};
    ASSERT_EQ(bind(journald_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << strerror(errno);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    out_ = UniqueFd(ends[0]);
    const UniqueFd in(ends[1]);
    stderr_ = UniqueFd(dup(STDERR_FILENO));
    ASSERT_EQ(dup2(in.get(), STDERR_FILENO), STDERR_FILENO);
    struct stat status = {};
    ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
    setenv("JOURNAL_STREAM", absl::StrCat(status.st_dev, ":", status.st_ino).c_str(), 1);
  }
  void TearDown() override {
    SetLogJournal(nullptr);
    SetLogNode("");
    if (stderr_.get() >= 0) dup2(stderr_.get(), STDERR_FILENO);
  }

  // Return what has come, or "".
  std::string Record() { return Read(journald_); }
  std::string Text() { return Read(out_); }

 private:
  static std::string Read(const UniqueFd& from) {
    char text[4096];
    const ssize_t bytes = read(from.get(), text, sizeof(text));
    return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : "";
  }

  UniqueFd journald_, out_, stderr_;
};

TEST_F(JournalTest, LinesAreRecordsWithFields) {
  LogToJournal();
  COPSE_LOG_ABOUT(kWarning, (LogSubject{.team = "7", .node = "n3", .job = "slurm-17"}), "team ", 7, " is\nbroken");
  const std::string record = Record();
  for (const char* field : {"PRIORITY=4\n", "MESSAGE=team 7 is\\x0abroken\n", "SYSLOG_IDENTIFIER=journal_test\n",
                            "COPSE_TEAM=7\n", "COPSE_NODE=n3\n", "COPSE_JOB=slurm-17\n"}) {
    EXPECT_TRUE(absl::StrContains(absl::StrCat("\n", record), absl::StrCat("\n", field))) << record;
  }
  EXPECT_EQ(Text(), "");
}

TEST_F(JournalTest, FieldsAreThereWhereALineConcernsSomething) {
  LogToJournal();
  COPSE_LOG(kError, "no room");
  std::string record = Record();
  EXPECT_TRUE(absl::StrContains(record, "PRIORITY=3\n")) << record;
  EXPECT_FALSE(absl::StrContains(record, "COPSE_")) << record;
  SetLogNode("n1");
  COPSE_LOG(kInfo, "ready");
  record = Record();
  EXPECT_TRUE(absl::StrContains(record, "PRIORITY=6\n")) << record;
  EXPECT_TRUE(absl::StrContains(record, "COPSE_NODE=n1\n")) << record;
  COPSE_LOG_ABOUT(kInfo, LogSubject{.node = "n2"}, "lost");
  EXPECT_TRUE(absl::StrContains(Record(), "COPSE_NODE=n2\n"));
}

// A program whose standard error was redirected has the variable of its parent.
TEST_F(JournalTest, AnotherStandardErrorGetsText) {
  setenv("JOURNAL_STREAM", "1:1", 1);
  LogToJournal();
  COPSE_LOG(kInfo, "hello");
  EXPECT_EQ(Record(), "");
  EXPECT_TRUE(absl::StrContains(Text(), " INFO journal_test: hello\n"));
}

TEST_F(JournalTest, ALogFileGetsText) {
  LogToJournal();
  const std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/log");
  ASSERT_TRUE(OpenLogFile(path).ok());
  COPSE_LOG(kInfo, "hello");
  ASSERT_TRUE(OpenLogFile("").ok());
  EXPECT_EQ(Record(), "");
  COPSE_LOG(kInfo, "again");
  EXPECT_TRUE(absl::StrContains(Record(), "MESSAGE=again\n"));
}

}  // namespace
}  // namespace copse
