// SPDX-License-Identifier: Apache-2.0
//
// copse-run with the launchers of both MPIs.
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "nlohmann/json.hpp"

namespace copse::mpi_test {
namespace {

using copse::testing::Names;
using ::testing::AnyOf;
using ::testing::ElementsAre;

constexpr absl::Duration kRunPatience = absl::Minutes(2);

class RunTest : public ShimTest {
 protected:
  MpiRun JobUnder(const Words& copse_run) {
    MpiRun run = JobOf(3, "situations", {"pending_send"});
    run.environment.clear();
    run.preload = false;
    run.before_launcher = {PathOf("client/run/copse-run")};
    run.before_launcher.insert(run.before_launcher.end(), copse_run.begin(), copse_run.end());
    return run;
  }
  MpiResult RunUnder(const Words& copse_run) { return Run(JobUnder(copse_run), kRunPatience); }
};

TEST_P(RunTest, ItsProgramsAreOffloaded) {
  const MpiResult result = ExpectDone(RunUnder({"--stats", "--offload", "all", "--calls-before", "2"}));
  const CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
  EXPECT_EQ(barriers.offloaded, 7u) << result.Text();
  EXPECT_EQ(barriers.by_mpi, 2u) << result.Text();
}

TEST_P(RunTest, CallsMayReturnEarly) {
  const MpiResult result = ExpectDone(RunUnder({"--stats", "--offload", "all", "--tnbc", "on"}));
  ExpectSaidOnce(result, "early returns: ");
  EXPECT_THAT(result.error.back(), Names("copse-mpi: verdict of T-NBC: ", "calls=0", "too short=5", "limit=64KiB"));
}

// The situation makes 9 barriers.
TEST_P(RunTest, StatisticsEndWithAVerdict) {
  const MpiResult nothing = ExpectDone(RunUnder({"--stats"}));
  ASSERT_FALSE(nothing.error.empty());
  EXPECT_THAT(nothing.error.back(), Names("copse-mpi: verdict: ", "calls=9", "first calls=9", "--offload all"));
  const MpiResult all = ExpectDone(RunUnder({"--stats", "--offload", "all", "--calls-before", "2"}));
  EXPECT_THAT(all.error.back(), Names("copse-mpi: verdict: ", "calls=9", "offloaded=7", "compared=0"));
}

// The path choice times both ways, so some of these calls are compared.
TEST_P(RunTest, StatisticsAreJsonToo) {
  const std::string file = FilePath("stats.json");
  MpiRun run = JobUnder({"--stats=json", "--stats-file", file, "--calls-before", "2"});
  run.command.back() = "kinds_of_calls";
  const MpiResult result = ExpectDone(Run(run, kRunPatience));
  ASSERT_EQ(LinesOf(file).size(), 1u) << result.Text();
  ASSERT_EQ(result.error, LinesOf(file)) << result.Text();
  const auto document = nlohmann::json::parse(result.error[0]);
  EXPECT_EQ(document["ranks"], 3);
  uint64_t calls = 0, offloaded = 0, compared = 0;
  for (const auto& row : document["collectives"]) {
    uint64_t reasons = 0;
    for (const auto& [reason, count] : row["reasons"].items()) reasons += count.get<uint64_t>();
    EXPECT_EQ(row["by_mpi"], reasons) << row;
    for (const char* way : {"compared_by_copse", "compared_by_mpi"}) {
      compared += row[way]["calls"].get<uint64_t>();
      if (row[way]["calls"] == 0) continue;
      EXPECT_GT(row[way]["copse_s"].get<double>(), 0) << row;
      EXPECT_GT(row[way]["mpi_s"].get<double>(), 0) << row;
    }
    offloaded += row["offloaded"].get<uint64_t>();
    calls += row["offloaded"].get<uint64_t>() + reasons;
  }
  EXPECT_GT(compared, 0u);
  const auto& verdict = document["verdict"];
  EXPECT_EQ(verdict["calls"], calls);
  EXPECT_EQ(verdict["offloaded"], offloaded);
  EXPECT_EQ(verdict["compared_by_copse"]["calls"].get<uint64_t>() + verdict["compared_by_mpi"]["calls"].get<uint64_t>(),
            compared);
  EXPECT_THAT(verdict["outcome"].get<std::string>(), AnyOf("faster", "alike", "slower"));
}

TEST_P(RunTest, WithoutStatsNothingIsPrinted) {
  const MpiResult result = ExpectDone(RunUnder({}));
  EXPECT_TRUE(result.ErrorsWith("copse").empty()) << result.Text();
}

TEST_P(RunTest, APreloadThatIsThereStays) {
  MpiRun run = JobUnder({"--stats", "--offload", "all"});
  run.environment["LD_PRELOAD"] = PathOf("integration_tests/mpi/libfirst_preload.so");
  const MpiResult result = ExpectDone(Run(run, kRunPatience));
  EXPECT_EQ(result.ErrorsWith("the first preload is here").size(), 3u) << result.Text();
  EXPECT_GT(ParseStatistics(result)["MPI_Barrier"].offloaded, 0u) << result.Text();
}

TEST_P(RunTest, TheExitCodeIsTheLaunchers) {
  MpiRun run = JobUnder({});
  run.command.back() = "nothing of that name";
  const MpiResult result = Run(run, kRunPatience);
  EXPECT_EQ(result.code, 2) << result.Text();
}

TEST_P(RunTest, AnOptionsWrongValueIsNamed) {
  for (const Words& option : {Words{"--offload", "most"}, Words{"--calls-before", "few"}, Words{"--tnbc", "perhaps"}}) {
    const MpiResult result = RunUnder(option);
    EXPECT_EQ(result.code, 2) << result.Text();
    ExpectSaidOnce(result, absl::StrCat("(value=", option[1], ")"));
  }
}

TEST_P(RunTest, AnUnknownFormOfStatisticsIsNamed) {
  const MpiResult result = RunUnder({"--stats=xml"});
  EXPECT_EQ(result.code, 2) << result.Text();
  ExpectSaidOnce(result, "(value=xml)");
}

TEST_P(RunTest, ATimeoutThatIsNoNumberIsNamed) {
  MpiRun run = JobUnder({});
  run.before_launcher.insert(run.before_launcher.begin(), {"/usr/bin/env", "COPSE_TIMEOUT=5s"});
  const MpiResult result = Run(run, kRunPatience);
  EXPECT_EQ(result.code, 2) << result.Text();
  EXPECT_THAT(result.error, ElementsAre(Names("copse-run: COPSE_TIMEOUT: ", "value=5s")));
}

TEST_P(RunTest, AFileThatIsNotTheLibraryIsNamed) {
  const std::string folder = cluster_.folder();
  const std::string back_end = PathOf(absl::StrCat("client/mpi/libcopse-mpi-", GetParam(), ".so"));
  const std::string script = FilePath("script");
  std::ofstream(script) << "#!/bin/sh\n";
  for (const std::string& file : {script, folder, FilePath("absent"), back_end}) {
    const MpiResult result = RunUnder({"--library", file});
    EXPECT_EQ(result.code, 1) << result.Text();
    EXPECT_THAT(result.error, ElementsAre(Names("copse-run: library: ", "value=" + file)));
    EXPECT_TRUE(result.out.empty()) << result.Text();
  }
  ExpectDone(RunUnder({"--library", PathOf("client/mpi/libcopse-mpi.so")}));
}

TEST_P(RunTest, DryRunPrintsTheCommand) {
  const MpiResult result = RunUnder({"--dry-run"});
  EXPECT_EQ(result.code, 0) << result.Text();
  ASSERT_EQ(result.out.size(), 1u) << result.Text();
  EXPECT_TRUE(absl::StartsWith(result.out[0], absl::StrCat("/usr/bin/mpiexec.", GetParam(), " "))) << result.out[0];
  EXPECT_TRUE(absl::StrContains(result.out[0], "/libcopse-mpi.so ")) << result.out[0];
}

COPSE_BOTH_MPIS(RunTest);

}  // namespace
}  // namespace copse::mpi_test
