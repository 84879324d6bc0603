// SPDX-License-Identifier: Apache-2.0

#include "client/port/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "client/port/error.h"

namespace copse::client {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(LogTest, IsSilentUnlessAsked) {
  testing::internal::CaptureStderr();
  Log(LogLevel::kError, "nobody asked");
  ConfigureLog(LogLevel::kNone, "");
  Log(LogLevel::kError, "nobody asked");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LogTest, WritesWholeLinesUpToTheLevel) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kWarning, "");
  errno = ENOENT;
  Log(LogLevel::kWarning, "queue %d is full", 7);
  EXPECT_EQ(errno, ENOENT);
  Log(LogLevel::kInfo, "not this");
  ConfigureLog(LogLevel::kNone, "");
  const std::string text = testing::internal::GetCapturedStderr();
  const std::regex line(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z WARNING libcopse\[\d+\]: queue 7 is full\n)");
  EXPECT_TRUE(std::regex_match(text, line)) << text;
}

TEST(LogTest, LongLinesAreCutButEnd) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kDebug, "");
  Log(LogLevel::kDebug, "%s", std::string(5000, 'x').c_str());
  ConfigureLog(LogLevel::kNone, "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_LE(text.size(), 768u);
  EXPECT_EQ(text.back(), '\n');
}

TEST(LogTest, GoesToAFileAndFromThereToAnother) {
  const std::string folder = testing::TempDir();
  const std::string first = folder + "/first.log", second = folder + "/second.log";
  ConfigureLog(LogLevel::kInfo, first);
  Log(LogLevel::kInfo, "one");
  ConfigureLog(LogLevel::kInfo, second);
  Log(LogLevel::kInfo, "two");
  ConfigureLog(LogLevel::kNone, "");
  EXPECT_NE(Read(first).find("one"), std::string::npos);
  EXPECT_EQ(Read(first).find("two"), std::string::npos);
  EXPECT_NE(Read(second).find("two"), std::string::npos);
}

TEST(LogTest, ErrorsAreLoggedOnceWithTheirCall) {
  testing::internal::CaptureStderr();
  ConfigureLog(LogLevel::kError, "");
  {
    CallScope scope("barrier");
    EXPECT_EQ(Fail(COPSE_ERR_NO_RESOURCE, "no room (free=%d)", 3), COPSE_ERR_NO_RESOURCE);
    EXPECT_EQ(Fail(COPSE_ERR_TIMED_OUT, "late"), COPSE_ERR_TIMED_OUT);  // how some callers poll
  }
  ConfigureLog(LogLevel::kNone, "");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("ERROR libcopse["), std::string::npos);
  EXPECT_NE(text.find("]: barrier: no room (free=3)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("late"), std::string::npos);
}

}  // namespace
}  // namespace copse::client
