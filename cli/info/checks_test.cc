// SPDX-License-Identifier: Apache-2.0
#include "cli/info/checks.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace copse::info {
namespace {

Check Named(const std::string& name) {
  for (const Check& check : CheckSystem()) {
    if (check.check == name) return check;
  }
  ADD_FAILURE() << "no such check: " << name;
  return {};
}

TEST(ChecksTest, ThisSystemRunsCopse) {
  for (const Check& check : CheckSystem()) {
    EXPECT_TRUE(check.ok) << check.check << ": " << check.seen << ", wanted: " << check.wanted;
    EXPECT_EQ(check.advice, "") << check.check;
  }
}

TEST(ChecksTest, ALowLimitIsSeenWithAdvice) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit few{.rlim_cur = 64, .rlim_max = 64};
    setrlimit(RLIMIT_NOFILE, &few);
    const Check check = Named("open files, hard limit");
    _exit(!check.ok && check.seen == "64" && !check.advice.empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ChecksTest, TheDaemonIsLookedForWhereProgramsDo) {
  const std::string place = absl::StrCat("@info-", getpid(), "-%h");
  setenv("COPSE_SOCKET", place.c_str(), 1);
  const Check before = CheckDaemonSocket();
  EXPECT_FALSE(before.ok);
  EXPECT_FALSE(absl::StrContains(before.seen, "%h")) << before.seen;

  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  const std::string name = absl::StrCat("info-", getpid(), "-", host);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  EXPECT_TRUE(CheckDaemonSocket().ok);
  unsetenv("COPSE_SOCKET");
}

}  // namespace
}  // namespace copse::info
