// SPDX-License-Identifier: Apache-2.0
//
// Programs that others wrote give with Copse what they give without, and their collectives are offloaded.
#include "integration_tests/mpi/apps/apps.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"

namespace copse::mpi_test {
namespace {

constexpr absl::Duration kAppPatience = absl::Minutes(4);

class AppsTest : public MpiTest<App> {
 protected:
  AppsTest() : MpiTest(kNodes) {}

  // `how` names its folder and its results. Results are the lines of them.
  MpiResult RunApp(const std::string& how, const Words& before_launcher, Words* results) {
    const App& app = GetParam();
    const std::string folder = FilePath(how);
    const absl::Status made = MakeAppFolder(app, folder);
    EXPECT_TRUE(made.ok()) << made;
    if (!made.ok()) return {};
    MpiResult result = Run({.library = app.library,
                            .ranks = app.ranks,
                            .sockets = Sockets(),
                            .preload = false,
                            .before_launcher = before_launcher,
                            .command = InFolder(app, folder)},
                           kAppPatience);
    EXPECT_EQ(result.code, 0) << how << "\n" << result.Text();
    const absl::StatusOr<Words> lines = ResultsOf(app, folder, result.out);
    EXPECT_TRUE(lines.ok()) << how << ": " << lines.status() << "\n" << result.Text();
    *results = lines.value_or(Words());
    return result;
  }
};

TEST_P(AppsTest, GivesTheSameWithItsCollectivesOffloadedAndReturningEarly) {
  Words expected;
  RunApp("plain", {}, &expected);
  // Returns what the run wrote.
  const auto run_with_copse = [&](const std::string& how, const Words& options) {
    Words command = {PathOf("client/run/copse-run")}, results;
    command.insert(command.end(), options.begin(), options.end());
    MpiResult result = RunApp(how, command, &results);
    EXPECT_EQ(DescribeDifference(expected, results, GetParam().tolerance), "") << absl::StrJoin(results, "\n");
    return result;
  };
  run_with_copse("faster", {});
  const MpiResult all = run_with_copse("all", {"--stats", "--offload", "all"});
  auto statistics = ParseStatistics(all);
  for (const std::string& collective : GetParam().offloaded) {
    EXPECT_GT(statistics[collective].offloaded, 0u) << collective << "\n" << all.Text();
  }
  const MpiResult early = run_with_copse("early", {"--stats", "--offload", "all", "--tnbc", "on"});
  ExpectSaidOnce(early, "copse-mpi: early returns");
  for (const std::string& line : all.ErrorsWith("copse-mpi: MPI_")) std::printf("%s\n", line.c_str());
  for (const std::string& line : early.ErrorsWith("copse-mpi: early returns")) std::printf("%s\n", line.c_str());
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
