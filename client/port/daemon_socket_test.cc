// SPDX-License-Identifier: Apache-2.0

#include "client/port/daemon_socket.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "client/port/error.h"

namespace copse::client {
namespace {

TEST(MayServeTest, RootTheSameUserAndUserCopse) {
  constexpr uid_t kNobodyElse = 123456789;
  EXPECT_TRUE(MayServe(0, 1000));
  EXPECT_TRUE(MayServe(1000, 1000));
  EXPECT_TRUE(MayServe(0, 0));
  EXPECT_FALSE(MayServe(kNobodyElse, 1000));
  EXPECT_FALSE(MayServe(kNobodyElse, 0));  // root is not to be fooled either
  const passwd* entry = getpwnam(kDaemonUser);
  EXPECT_EQ(MayServe(entry == nullptr ? kNobodyElse : entry->pw_uid, 1000), entry != nullptr);
}

// Listens until it is destroyed.
FileDescriptor Listen(const std::string& name) {
  FileDescriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
  EXPECT_EQ(listen(listener.get(), 8), 0);
  return listener;
}

int asked = 0;

TEST(ConnectDaemonTest, AServerThatIsNotToBeTrustedIsPassedBy) {
  const std::string squatted = "@copse_squatted_" + std::to_string(getpid());
  const std::string own = "@copse_own_" + std::to_string(getpid());
  const FileDescriptor squatter = Listen(squatted), daemon = Listen(own);
  const auto second_only = [](uid_t, uid_t) { return ++asked == 2; };
  FileDescriptor socket;
  std::string place;
  EXPECT_EQ(ConnectFirst({squatted, own}, second_only, &socket, &place), COPSE_OK) << LastError();
  EXPECT_EQ(place, own);
  EXPECT_TRUE(socket.valid());
  const auto none = [](uid_t, uid_t) { return false; };
  EXPECT_EQ(ConnectFirst({squatted, "@copse_nobody_listens"}, none, &socket, &place), COPSE_ERR_PERMISSION);
  const std::string error = LastError();
  EXPECT_NE(error.find("tried=" + squatted + ": "), std::string::npos) << error;
  EXPECT_NE(error.find("uid=" + std::to_string(geteuid()) + "; @copse_nobody_listens: "), std::string::npos) << error;
}

TEST(ConnectDaemonTest, AnEmptyPlaceMeansTheDefaultOnes) {
  FileDescriptor socket;
  std::string place;
  // A daemon may really run on this machine.
  if (ConnectDaemon("", &socket, &place) == COPSE_OK) {
    EXPECT_TRUE(place == kAbstractSocket || place == kSocketPath);
    return;
  }
  const std::string error = LastError();
  EXPECT_NE(error.find("tried=@copse: "), std::string::npos) << error;
  EXPECT_NE(error.find("; /run/copse/copsed.sock: "), std::string::npos) << error;
  EXPECT_NE(error.find("COPSE_SOCKET"), std::string::npos) << error;
}

}  // namespace
}  // namespace copse::client
