// SPDX-License-Identifier: Apache-2.0

#include "client/daemon_socket.h"

#include <gtest/gtest.h>
#include <pwd.h>

#include <string>

#include "client/error.h"

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
}

}  // namespace
}  // namespace copse::client
