// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/process_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/testing/status_matchers.h"
#include "base/unique_fd.h"
#include "daemon/accounts/job_of_cgroup.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;

// A child that calls itself "victim", runs `body` once it may, and was the peer of a socket of
// ours.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    go_ = UniqueFd(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, "victim");
      int pair[2];
      socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
      char byte;
      if (read(ends[0], &byte, 1) == 1) body();
      _exit(0);
    }
    close(ends[0]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void Go() { EXPECT_EQ(write(go_.get(), "x", 1), 1); }
  void Reap() { waitpid(pid_, nullptr, 0); }
  pid_t pid() const { return pid_; }

 private:
  UniqueFd go_;
  pid_t pid_;
};

PeerProcess Watch(pid_t pid) {
  return {.pid = pid, .name = "victim", .pidfd = UniqueFd(static_cast<int>(syscall(434 /* pidfd_open */, pid, 0)))};
}

void AwaitDeath(const PeerProcess& process) {
  pollfd fd{process.pidfd.get(), POLLIN, 0};
  ASSERT_EQ(poll(&fd, 1, 10000), 1);
}

PeerProcess LookedUp(int socket) {
  absl::StatusOr<PeerProcess> process = PeerOf(socket);
  CHECK(process.ok());
  LookUp(socket, &*process);
  return *std::move(process);
}

TEST(ProcessWatchTest, KnowsThePeerOfASocket) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd a(pair[0]), b(pair[1]);
  const PeerProcess peer = LookedUp(a.get());
  EXPECT_EQ(peer.pid, getpid());
  EXPECT_EQ(peer.uid, getuid());
  EXPECT_TRUE(peer.pidfd.valid());
  EXPECT_FALSE(peer.name.empty());
  EXPECT_FALSE(PeerOf(-1).ok());
}

TEST(ProcessWatchTest, SaysWhichSignalKilled) {
  Child child([] { raise(SIGKILL); });
  const PeerProcess process = Watch(child.pid());
  child.Go();
  AwaitDeath(process);
  const std::string who = absl::StrCat("process ", child.pid());
  EXPECT_THAT(DescribeDeath(process), Names(who, "(victim)", "signal 9"));
  child.Reap();
  EXPECT_THAT(DescribeDeath(process), Names(who));  // once reaped only newer kernels know more
}

TEST(ProcessWatchTest, DescribesWhatItCannotSee) {
  PeerProcess process;
  process.uid = 7;
  EXPECT_THAT(DescribeProcess(process), Names("uid 7"));
  EXPECT_THAT(DescribeDeath(process), Names("uid 7"));
}

TEST(LookUpTest, TheGroupsAreTheKernels) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd mine(pair[0]), other(pair[1]);
  std::vector<gid_t> groups(static_cast<size_t>(getgroups(0, nullptr)));
  ASSERT_GE(getgroups(static_cast<int>(groups.size()), groups.data()), 0);
  std::set<uint32_t> all(groups.begin(), groups.end());
  all.insert(getegid());
  EXPECT_EQ(LookedUp(mine.get()).groups, all);
}

TEST(LookUpTest, TheJobIsTheControlGroups) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd mine(pair[0]), other(pair[1]);
  std::ifstream file("/proc/self/cgroup");
  const std::string cgroup{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(LookedUp(mine.get()).job, JobOfCgroup(cgroup, geteuid()));
}

}  // namespace
}  // namespace copse::daemon
