// SPDX-License-Identifier: Apache-2.0

#include "base/process/service_manager.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace copse::daemon {
namespace {

class ServiceManagerTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = absl::StrCat("copse_notify_", getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name.data(), name.size());
    systemd_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_EQ(bind(systemd_.get(), reinterpret_cast<sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
              0);
    setenv("NOTIFY_SOCKET", absl::StrCat("@", name).c_str(), 1);
  }
  void TearDown() override { unsetenv("NOTIFY_SOCKET"); }
  std::string Told() {
    char text[512];
    const ssize_t bytes = recv(systemd_.get(), text, sizeof(text), 0);
    return bytes < 0 ? "" : std::string(text, static_cast<size_t>(bytes));
  }

  UniqueFd systemd_;
};

TEST_F(ServiceManagerTest, TellsEveryChange) {
  ServiceManager manager;
  manager.Ready("up");
  EXPECT_EQ(Told(), "READY=1\nSTATUS=up");
  manager.Status("registered");
  EXPECT_EQ(Told(), "STATUS=registered");
  manager.Reloading();
  EXPECT_EQ(Told().substr(0, 27), "RELOADING=1\nMONOTONIC_USEC=");
  manager.Reloaded();
  EXPECT_EQ(Told(), "READY=1") << "the status is as before";
  manager.Stopping("draining");
  EXPECT_EQ(Told(), "STOPPING=1\nSTATUS=draining");
}

TEST_F(ServiceManagerTest, PingsTheWatchdogInTime) {
  setenv("WATCHDOG_USEC", "3000000", 1);
  setenv("WATCHDOG_PID", absl::StrCat(getpid()).c_str(), 1);
  ServiceManager manager;
  const absl::Time now = absl::UnixEpoch();
  manager.Tick(now);
  EXPECT_EQ(Told(), "WATCHDOG=1");
  EXPECT_EQ(manager.NextDeadline(), now + absl::Seconds(1));
  manager.Tick(now + absl::Milliseconds(999));
  EXPECT_EQ(Told(), "");
  manager.Tick(now + absl::Seconds(1));
  EXPECT_EQ(Told(), "WATCHDOG=1");
}

TEST_F(ServiceManagerTest, SaysNothingWithoutSystemd) {
  unsetenv("NOTIFY_SOCKET");
  ServiceManager manager;
  manager.Ready("up");
  manager.Tick(absl::UnixEpoch());
  EXPECT_EQ(Told(), "");
  EXPECT_EQ(manager.NextDeadline(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace copse::daemon
