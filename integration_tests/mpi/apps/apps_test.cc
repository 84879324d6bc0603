// SPDX-License-Identifier: Apache-2.0
//
// Programs that others wrote give with Copse what they give without, and their collectives are offloaded.
#include "integration_tests/mpi/apps/apps.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/process_cluster.h"

namespace copse::mpi_test {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(4);
constexpr uint32_t kNodes = 2;

class AppsTest : public testing::TestWithParam<App> {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.Start({.nodes = kNodes}).ok()); }
  void TearDown() override {
    const absl::Status alive = cluster_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    if (HasFailure()) cluster_.DumpLogs(stderr);
  }

  // `how` names its folder and its results. Results are the lines of them.
  MpiResult Run(const std::string& how, const Words& before_launcher, Words* results) {
    const App& app = GetParam();
    const std::string folder = absl::StrCat(cluster_.folder(), "/", how);
    const absl::Status made = MakeAppFolder(app, folder);
    EXPECT_TRUE(made.ok()) << made;
    if (!made.ok()) return {};
    MpiRun run = {.library = app.library,
                  .ranks = app.ranks,
                  .preload = false,
                  .before_launcher = before_launcher,
                  .command = InFolder(app, folder)};
    for (uint32_t node = 0; node < kNodes; ++node) run.sockets.push_back(cluster_.SocketOf(node));
    MpiResult result = RunMpi(run, cluster_.folder(), kPatience);
    EXPECT_EQ(result.code, 0) << how << "\n" << result.Text();
    const absl::StatusOr<Words> lines = ResultsOf(app, folder, result.out);
    EXPECT_TRUE(lines.ok()) << how << ": " << lines.status() << "\n" << result.Text();
    *results = lines.value_or(Words());
    return result;
  }

  procs::ProcessCluster cluster_;
};

TEST_P(AppsTest, GivesTheSameWithItsCollectivesOffloadedAndReturningEarly) {
  Words expected, by_faster, by_all, early;
  Run("plain", {}, &expected);
  Run("faster", {PathOf("client/run/copse-run")}, &by_faster);
  EXPECT_EQ(DescribeDifference(expected, by_faster, GetParam().tolerance), "") << absl::StrJoin(by_faster, "\n");
  const MpiResult with_copse = Run("all", {PathOf("client/run/copse-run"), "--stats", "--offload", "all"}, &by_all);
  EXPECT_EQ(DescribeDifference(expected, by_all, GetParam().tolerance), "") << absl::StrJoin(by_all, "\n");
  auto statistics = ParseStatistics(with_copse);
  for (const std::string& collective : GetParam().offloaded) {
    EXPECT_GT(statistics[collective].offloaded, 0u) << collective << "\n" << with_copse.Text();
  }
  for (const std::string& line : with_copse.ErrorsWith("copse-mpi: MPI_")) std::printf("%s\n", line.c_str());
  const MpiResult returning_early =
      Run("early", {PathOf("client/run/copse-run"), "--stats", "--offload", "all", "--tnbc", "on"}, &early);
  EXPECT_EQ(DescribeDifference(expected, early, GetParam().tolerance), "") << absl::StrJoin(early, "\n");
  const Words about_returns = returning_early.ErrorsWith("copse-mpi: early returns");
  EXPECT_EQ(about_returns.size(), 1u) << returning_early.Text();
  for (const std::string& line : about_returns) std::printf("%s\n", line.c_str());
}

INSTANTIATE_TEST_SUITE_P(All, AppsTest, testing::ValuesIn(Apps()), [](const auto& info) { return info.param.name; });

TEST(DescribeDifferenceTest, NumbersMayDifferByTheTolerance) {
  const Words expected = {"energy = -76.0100 at step 3", "1.0D-03 PASSED"};
  EXPECT_EQ(DescribeDifference(expected, expected, 0), "");
  EXPECT_EQ(DescribeDifference(expected, {"energy =  -76.0101 at step 3", "1.1E-03 PASSED"}, 1e-3), "");
  EXPECT_EQ(
      DescribeDifference(expected, {"energy = -77.0 at step 3", "9.0 PASSED"}, std::numeric_limits<double>::infinity()),
      "");
}

TEST(DescribeDifferenceTest, WordsWholeNumbersAndLinesMayNot) {
  const double any = std::numeric_limits<double>::infinity();
  const Words expected = {"32 1.5 PASSED"};
  EXPECT_NE(DescribeDifference(expected, {"32 1.5 FAILED"}, any), "");
  EXPECT_NE(DescribeDifference(expected, {"33 1.5 PASSED"}, any), "");
  EXPECT_NE(DescribeDifference(expected, {"32 nan PASSED"}, any), "");
  EXPECT_NE(DescribeDifference(expected, {"32 1.6 PASSED"}, 1e-3), "");
  EXPECT_NE(DescribeDifference(expected, {"32 1.5 PASSED more"}, any), "");
  EXPECT_NE(DescribeDifference(expected, {}, any), "");
  EXPECT_NE(DescribeDifference({}, expected, any), "");
}

TEST(MakeAppFolderTest, AProgramThatIsNotInstalledIsNamed) {
  const absl::Status status =
      MakeAppFolder({.name = "nothing", .command = {"/usr/bin/nothing-of-that-name"}}, testing::TempDir() + "/nothing");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.ToString().find("(file=/usr/bin/nothing-of-that-name)"), std::string::npos) << status;
}

TEST(ResultsOfTest, OutputWithoutResultsIsAnError) {
  const App app = {.name = "quiet", .results = "^result"};
  EXPECT_EQ(ResultsOf(app, "", {"no result", "none"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*ResultsOf(app, "", {"no result", "result 1"}), Words{"result 1"});
}

}  // namespace
}  // namespace copse::mpi_test
