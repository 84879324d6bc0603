// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/report.h"

#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace copse::mpi {
namespace {

using copse::testing::Names;
using nlohmann::json;
using ::testing::StartsWith;

std::string Printed(const Settings& settings, const RunFigures& figures = {}) {
  ::testing::internal::CaptureStderr();
  Report(figures, settings, 0);
  return ::testing::internal::GetCapturedStderr();
}

TEST(ReportTest, TextEndsWithTheVerdicts) {
  const Settings settings = {.stats = Settings::StatsForm::kText};
  EXPECT_THAT(Printed(settings), Names("copse-mpi: verdict: ", "calls=0"));
  EXPECT_THAT(Printed(settings, {.early = EarlyFigures()}), Names("copse-mpi: verdict of T-NBC: ", "blocked=0"));
}

TEST(ReportTest, JsonIsOneLine) {
  const std::string printed = Printed({.stats = Settings::StatsForm::kJson});
  EXPECT_EQ(printed.find('\n'), printed.size() - 1);
  EXPECT_EQ(json::parse(printed)["verdict"]["calls"], 0);
}

TEST(ReportTest, TheFileHasTheJsonAlone) {
  const std::string path = ::testing::TempDir() + "/report_test.json";
  std::ofstream(path) << std::string(10'000, 'x');
  EXPECT_EQ(Printed({.stats_file = path}), "");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(json::parse(text)["verdict"]["calls"], 0);
}

TEST(ReportTest, AFileThatCannotBeWrittenIsNamed) {
  for (const char* path : {"/no-such-folder/stats.json", "/dev/full"}) {
    const std::string printed = Printed({.stats_file = path});
    EXPECT_THAT(printed, StartsWith("copse-mpi: statistics: "));
    EXPECT_THAT(printed, Names(std::string("file=") + path));
  }
}

}  // namespace
}  // namespace copse::mpi
