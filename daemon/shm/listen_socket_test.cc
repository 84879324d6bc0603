// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/listen_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

// Short, as a socket's path must be.
std::string Folder() {
  std::string folder = "/tmp/copse_listen_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

TEST(ListenOnTest, OnlyOneCanListenOnAnAbstractName) {
  const std::string name = absl::StrCat("@copse_listen_test_", getpid());
  absl::StatusOr<UniqueFd> first = ListenOn(name);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(absl::IsAlreadyExists(ListenOn(name).status()));
  first->reset();
  EXPECT_TRUE(ListenOn(name).ok());
}

TEST(ListenOnTest, ReplacesWhatADeadDaemonLeft) {
  const std::string folder = Folder();
  const std::string path = folder + "/socket";
  absl::StatusOr<UniqueFd> first = ListenOn(path);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(absl::IsAlreadyExists(ListenOn(path).status()));
  first->reset();
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  const absl::StatusOr<UniqueFd> second = ListenOn(path);
  EXPECT_TRUE(second.ok()) << second.status();
  struct stat file;
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0666u);
  unlink(path.c_str());
  rmdir(folder.c_str());
}

TEST(ListenOnTest, SaysWhyAPathCannotBe) {
  EXPECT_THAT(ListenOn("/nonexistent/s"), FailsWith(absl::StatusCode::kNotFound, "socket: ", "socket=/nonexistent/s"));
}

TEST(ListenOnTest, DoesNotReplaceAFile) {
  const std::string folder = Folder();
  const std::string path = folder + "/file";
  const UniqueFd file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_THAT(ListenOn(path), FailsWith(absl::StatusCode::kAlreadyExists, "socket: ", "socket=" + path));
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  unlink(path.c_str());
  rmdir(folder.c_str());
}

TEST(ListenOnTest, RefusesImpossibleNames) {
  EXPECT_TRUE(absl::IsInvalidArgument(ListenOn("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ListenOn(std::string(200, 'x')).status()));
  EXPECT_FALSE(ListenOn("/nowhere/at/all").ok());
}

TEST(ExpandSocketNameTest, PutsTheNodesNameIn) {
  EXPECT_EQ(ExpandSocketName("@copse-%h", "n1"), "@copse-n1");
  EXPECT_EQ(ExpandSocketName("@copse", "n1"), "@copse");
}

TEST(SocketsFromSystemdTest, TakesNoneWithoutSystemd) {
  unsetenv("LISTEN_FDS");
  const auto sockets = SocketsFromSystemd();
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  EXPECT_TRUE(sockets->empty());
}

// What SocketsFromSystemd says in a process that was passed `fd`: the number of sockets, or 99 for an error.
int PassedBySystemd(int fd) {
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(fd, 3);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", absl::StrCat(getpid()).c_str(), 1);
    const auto sockets = SocketsFromSystemd();
    _exit(sockets.ok() ? static_cast<int>(sockets->size()) : 99);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

TEST(SocketsFromSystemdTest, TakesListeningPacketSocketsOnly) {
  const absl::StatusOr<UniqueFd> socket = ListenOn(absl::StrCat("@copse_systemd_test_", getpid()));
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_EQ(PassedBySystemd(socket->get()), 1);
  // One that blocks, as systemd passes them, blocks no longer: the flag is the socket's, whoever holds it.
  ASSERT_EQ(fcntl(socket->get(), F_SETFL, 0), 0);
  EXPECT_EQ(PassedBySystemd(socket->get()), 1);
  EXPECT_NE(fcntl(socket->get(), F_GETFL) & O_NONBLOCK, 0);
  const UniqueFd stream(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(PassedBySystemd(stream.get()), 99);
  EXPECT_EQ(PassedBySystemd(STDIN_FILENO), 99);
}

}  // namespace
}  // namespace copse::daemon
