// SPDX-License-Identifier: Apache-2.0
//
// Against scripts in the ranks' place: what is said, when, and what becomes of a peer that hangs.
#include "bench/rank_system.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "testbed/processes/child_process.h"

namespace copse::bench {
namespace {

using copse::testing::FailsWith;
using procs::ChildProcess;

using Start = decltype(RankHooks::start);

Start Script(const std::string& text, std::vector<std::string>* arguments = nullptr) {
  return [text, arguments](const std::vector<std::string>& given) -> absl::StatusOr<RankProcesses> {
    if (arguments != nullptr) *arguments = given;
    RankProcesses ranks;
    auto child = ChildProcess::Start({.arguments = {"/bin/sh", "-c", text}, .stdin_pipe = true, .stdout_pipe = true});
    if (!child.ok()) return child.status();
    ranks.processes.push_back(*std::move(child));
    return ranks;
  };
}

struct Result {
  absl::Status status;
  std::map<size_t, std::vector<double>> samples;
};

Result MeasureBoth(const Start& start, absl::Duration timeout = absl::Seconds(20),
                   const decltype(RankHooks::take)& take = nullptr) {
  RankSystem ranks("peer", {.start = start, .take = take}, {{"latency", "barrier", 0}, {"stream", "bcast", 1024}},
                   {.budget = absl::Milliseconds(5), .calls_max = 7, .cell_timeout = timeout}, nullptr);
  Result result;
  result.status = ranks.Measure(
      {0, 1}, [&](size_t cell, std::vector<double> samples) { result.samples[cell] = std::move(samples); });
  return result;
}

TEST(RankSystemTest, AsksForCellsAndTakesTheirSamples) {
  std::vector<std::string> arguments;
  // Nothing is measured before the input ends.
  const Result result = MeasureBoth(Script("echo ready; cat >/dev/null; echo 0 1.5 2.5; echo 1 7", &arguments));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(arguments, (std::vector<std::string>{"5", "7", "latency:barrier:0", "stream:bcast:1024"}));
  EXPECT_EQ(result.samples, (std::map<size_t, std::vector<double>>{{0, {1.5, 2.5}}, {1, {7}}}));
}

TEST(RankSystemTest, APeerThatHangsIsKilledAndHasNotFinished) {
  // It ignores the polite signal too.
  const Result result = MeasureBoth(Script("trap '' TERM; echo ready; cat >/dev/null; echo 0 1; while :; do :; done"),
                                    absl::Milliseconds(200));
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status)) << result.status;
  EXPECT_EQ(result.samples.size(), 1u);
}

TEST(RankSystemTest, WhatWentWrongIsSaid) {
  const auto status = [](const char* script) { return MeasureBoth(Script(script)).status; };
  EXPECT_THAT(status("exit 1"), FailsWith(absl::StatusCode::kInternal, "exit code 1"));
  EXPECT_THAT(status("exit 0"), FailsWith(absl::StatusCode::kInternal));
  EXPECT_THAT(status("echo hello"), FailsWith(absl::StatusCode::kInternal, "rank 0: ", "line=hello"));
  EXPECT_THAT(status("echo ready; echo 0 1"), FailsWith(absl::StatusCode::kInternal));
  EXPECT_THAT(status("echo ready; echo 0 1 x"), FailsWith(absl::StatusCode::kInternal, "cell 0", "line=0 1 x"));
  EXPECT_THAT(status("echo ready; echo 1 1"), FailsWith(absl::StatusCode::kInternal, "cell 0", "line=1 1"));
  EXPECT_THAT(status("echo ready; echo 0 1; echo 1 1; exit 3"), FailsWith(absl::StatusCode::kInternal, "exit code 3"));
  RankSystem slow("peer", {.start = Script("cat; while :; do :; done")}, {{"latency", "barrier", 0}},
                  {.start_timeout = absl::Milliseconds(100)}, nullptr);
  EXPECT_THAT(slow.Measure({0}, [](size_t, const std::vector<double>&) {}),
              FailsWith(absl::StatusCode::kUnavailable, "timeout=100ms"));
}

TEST(RankSystemTest, WhatTheRankThatFailedSaidLastIsSaid) {
  // Rank 0 only notices.
  const Start start = [](const std::vector<std::string>&) -> absl::StatusOr<RankProcesses> {
    RankProcesses ranks;
    for (const char* text : {"exit 0", "echo one >&2; echo 'rank_copse: team: lost' >&2; exit 1"}) {
      auto child = ChildProcess::Start({.arguments = {"/bin/sh", "-c", text},
                                        .stdin_pipe = true,
                                        .stdout_pipe = true,
                                        .log_file = ::testing::TempDir() + "/last_words.log"});
      if (!child.ok()) return child.status();
      ranks.processes.push_back(*std::move(child));
    }
    EXPECT_TRUE(ranks.processes[1]->AwaitEnd(absl::Seconds(20)).ok());
    return ranks;
  };
  EXPECT_THAT(MeasureBoth(start).status,
              FailsWith(absl::StatusCode::kInternal, "rank 1: exit code 1: rank_copse: team: lost"));
}

TEST(RankSystemTest, AlgorithmsAreAskedForWhileTheTeamIsThere) {
  RankSystem ranks("copse",
                   {.start = Script("echo ready; cat >/dev/null; echo 0 1"),
                    .algorithm = [](size_t cell) { return absl::StatusOr<std::string>(cell == 0 ? "tree" : "other"); }},
                   {{"latency", "barrier", 0}}, {.cell_timeout = absl::Seconds(20)}, nullptr);
  EXPECT_EQ(ranks.algorithm(0), "");
  EXPECT_TRUE(ranks.Measure({0}, [](size_t, const std::vector<double>&) {}).ok());
  EXPECT_EQ(ranks.algorithm(0), "tree");
}

TEST(RankSystemTest, LoadComputesOnlyMeanwhile) {
  auto load = BackgroundLoad::Start(1);
  ASSERT_TRUE(load.ok()) << load.status();
  // "T" is stopped, "R" runs: the third field of /proc/PID/stat.
  const std::string state =
      "set -- $(sed 's/.*) //' /proc/" + std::to_string((*load)->processes()[0]->pid()) + "/stat); ";
  const auto is = [](const std::string& wanted) { return "test $1 = " + wanted + " || exit 9; "; };
  RankSystem ranks("peer",
                   {.start = Script(state + is("T") + "echo ready; cat >/dev/null; " + state + is("R") + "echo 0 1")},
                   {{"latency", "barrier", 0}}, {.cell_timeout = absl::Seconds(20)}, load->get());
  EXPECT_TRUE(ranks.Measure({0}, [](size_t, const std::vector<double>&) {}).ok());
  EXPECT_FALSE((*load)->processes()[0]->Ended());
}

TEST(RankSystemTest, WhatIsTakenOfSamplesCounts) {
  const Start both = Script("echo ready; cat >/dev/null; echo 0 1.5 2.5; echo 1 7");
  const Result taken = MeasureBoth(both, absl::Seconds(20), [](size_t cell, const std::vector<double>& samples) {
    return std::vector<double>{samples[0] * 10, double(cell)};
  });
  EXPECT_TRUE(taken.status.ok()) << taken.status;
  EXPECT_EQ(taken.samples, (std::map<size_t, std::vector<double>>{{0, {15, 0}}, {1, {70, 1}}}));
  // An error is the cell's: what comes behind it is measured again.
  const Result refused = MeasureBoth(
      both, absl::Seconds(20), [](size_t cell, std::vector<double> samples) -> absl::StatusOr<std::vector<double>> {
        if (cell == 1) return absl::DataLossError("other results");
        return samples;
      });
  EXPECT_EQ(refused.status, absl::DataLossError("other results"));
  EXPECT_EQ(refused.samples.size(), 1u);
}

}  // namespace
}  // namespace copse::bench
