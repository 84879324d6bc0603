// SPDX-License-Identifier: Apache-2.0
#include "base/config/places.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>

#include "base/check.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::config {
namespace {

using absl::StatusCode;
using testing::FailsWith;

class PlacesTest : public ::testing::Test {
 protected:
  const std::string folder_ = ::testing::TempDir();  // ends with a slash
};

TEST_F(PlacesTest, AFileThatIsThereOrCanBeMadeIsFine) {
  EXPECT_TRUE(CheckWritable("log_file", "").ok());
  EXPECT_TRUE(CheckWritable("log_file", folder_ + "new").ok());
  std::ofstream(folder_ + "old") << "x";
  EXPECT_TRUE(CheckWritable("log_file", folder_ + "old").ok());
  EXPECT_TRUE(CheckWritable("log_file", "/dev/null").ok());
  EXPECT_TRUE(CheckFolder("socket", folder_ + "x.sock").ok());
  EXPECT_NE(access((folder_ + "new").c_str(), F_OK), 0) << "it was made";
}

TEST_F(PlacesTest, WhatIsWrongIsSaidWithKeyAndPath) {
  EXPECT_THAT(CheckWritable("log_file", "/nowhere/log"),
              FailsWith(StatusCode::kFailedPrecondition, "log_file=/nowhere/log"));
  EXPECT_THAT(CheckFolder("socket", "/nowhere/x.sock"),
              FailsWith(StatusCode::kFailedPrecondition, "socket=/nowhere/x.sock"));
  EXPECT_THAT(CheckWritable("state", "/tmp"), FailsWith(StatusCode::kFailedPrecondition, "state=/tmp"));
  EXPECT_THAT(CheckFolder("socket", "/dev/null/x"), FailsWith(StatusCode::kFailedPrecondition, "socket=/dev/null/x"));
  EXPECT_THAT(CheckWritable("state", "/dev/null/x"), FailsWith(StatusCode::kFailedPrecondition, "state=/dev/null/x"));
}

// Root may write anywhere until it drops its capabilities.
bool GiveUpCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

TEST_F(PlacesTest, PermissionsCount) {
  const std::string closed = folder_ + "closed";
  ASSERT_EQ(mkdir(closed.c_str(), 0500), 0);
  EXPECT_EXIT(
      {
        CHECK(GiveUpCapabilities());
        std::cerr << CheckFolder("socket", closed + "/x").message() << '\n'
                  << CheckWritable("log_file", closed + "/x").message() << '\n';
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "socket: .*Permission denied.*\nlog_file: .*Permission denied");
}

}  // namespace
}  // namespace copse::config
