// SPDX-License-Identifier: Apache-2.0

#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/testing/status_matchers.h"

namespace copse {
namespace {

using ::testing::ContainsRegex;
using testing::FailsWith;
using ::testing::HasSubstr;

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override {
    SetLogLevel(LogLevel::kInfo);
    ASSERT_TRUE(OpenLogFile("").ok());
  }

  // Returns an unused path in the test's own directory.
  std::string Path(const std::string& name) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/log_test_", getpid(), "_", name);
    unlink(path.c_str());
    return path;
  }

  std::string Contents(const std::string& path) {
    std::ifstream in(path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
};

TEST_F(LogTest, ParsesEveryLevelInAnyCase) {
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(*ParseLogLevel("INFO"), LogLevel::kInfo);
  EXPECT_EQ(*ParseLogLevel("Warning"), LogLevel::kWarning);
  EXPECT_EQ(*ParseLogLevel("error"), LogLevel::kError);
}

TEST_F(LogTest, UnknownLevelIsAnErrorThatNamesIt) {
  EXPECT_THAT(ParseLogLevel("loud"), FailsWith(absl::StatusCode::kInvalidArgument, "'loud'"));
}

TEST_F(LogTest, LineHasTimeLevelProgramAndText) {
  EXPECT_EQ(FormatLogLine(absl::UnixEpoch() + absl::Microseconds(1500000), LogLevel::kError, "copsed", "a b"),
            "1970-01-01T00:00:01.500000Z ERROR copsed: a b");
}

TEST_F(LogTest, ControlCharactersAreEscaped) {
  EXPECT_THAT(FormatLogLine(absl::UnixEpoch(), LogLevel::kInfo, "p", "a\nERROR b\x1b"),
              HasSubstr("p: a\\x0aERROR b\\x1b"));
}

TEST_F(LogTest, ArgumentsBelowTheLevelAreNotEvaluated) {
  const std::string path = Path("level");
  ASSERT_TRUE(OpenLogFile(path).ok());
  int evaluated = 0;
  COPSE_LOG(kDebug, "debug ", ++evaluated);
  EXPECT_EQ(evaluated, 0);
  SetLogLevel(LogLevel::kDebug);
  COPSE_LOG(kDebug, "debug ", ++evaluated);
  EXPECT_EQ(evaluated, 1);
  EXPECT_THAT(Contents(path), ContainsRegex("^[0-9-]+T[0-9:.]+Z DEBUG .*log_test: debug 1\n$"));
}

TEST_F(LogTest, ReopeningTheSamePathFollowsARotation) {
  const std::string path = Path("rotated");
  ASSERT_TRUE(OpenLogFile(path).ok());
  COPSE_LOG(kInfo, "first");
  ASSERT_EQ(rename(path.c_str(), absl::StrCat(path, ".1").c_str()), 0);
  ASSERT_TRUE(OpenLogFile(path).ok());
  COPSE_LOG(kInfo, "second");
  EXPECT_THAT(Contents(absl::StrCat(path, ".1")), HasSubstr("first"));
  EXPECT_THAT(Contents(path), HasSubstr("second"));
}

TEST_F(LogTest, FailureToOpenNamesThePathAndKeepsTheOldLog) {
  const std::string path = Path("kept");
  ASSERT_TRUE(OpenLogFile(path).ok());
  EXPECT_THAT(OpenLogFile("/nonexistent-folder/copse.log"),
              FailsWith(absl::StatusCode::kNotFound, "'/nonexistent-folder/copse.log'"));
  COPSE_LOG(kInfo, "still here");
  EXPECT_THAT(Contents(path), HasSubstr("still here"));
}

TEST_F(LogTest, ThreadsWriteWholeLines) {
  const std::string path = Path("threads");
  ASSERT_TRUE(OpenLogFile(path).ok());
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kLines; ++i) COPSE_LOG(kInfo, "0123456789");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = absl::StrSplit(Contents(path), '\n');
  ASSERT_EQ(lines.size(), static_cast<size_t>(kThreads * kLines + 1));
  for (size_t i = 0; i + 1 < lines.size(); ++i) EXPECT_THAT(lines[i], ContainsRegex("Z INFO .*: 0123456789$"));
}

}  // namespace
}  // namespace copse
