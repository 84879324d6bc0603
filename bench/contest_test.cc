// SPDX-License-Identifier: Apache-2.0
#include "bench/contest.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace copse::bench {
namespace {

using Answer = absl::StatusOr<std::vector<double>>;

// A system that answers with figures.
struct Script {
  std::string system;
  std::function<Answer(size_t cell, uint32_t launch)> answer;
};

Script Always(const std::string& system, double value) {
  return {system, [value](size_t, uint32_t) { return std::vector<double>{value}; }};
}
Script Fails(const std::string& system, const absl::Status& status) {
  return {system, [status](size_t, uint32_t) { return Answer(status); }};
}
// Does not finish cell 1.
Script FailsAtOne(const std::string& system, double value) {
  return {system, [value](size_t cell, uint32_t) {
            return cell == 1 ? Answer(absl::DeadlineExceededError("slow")) : std::vector<double>{value};
          }};
}

class Scripted final : public SystemUnderTest {
 public:
  Scripted(Script script, std::vector<std::string>* log) : script_(std::move(script)), log_(log) {}

  std::string name() const override { return script_.system; }
  std::string algorithm(size_t cell) const override { return absl::StrCat(script_.system, "-", cell); }
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override {
    const uint32_t launch = launches_++;
    for (const size_t cell : cells) {
      log_->push_back(absl::StrCat(script_.system, launch, ":", cell));
      const Answer answer = script_.answer(cell, launch);
      if (!answer.ok()) return answer.status();
      report(cell, *answer);
    }
    return absl::OkStatus();
  }

 private:
  const Script script_;
  std::vector<std::string>* const log_;
  uint32_t launches_ = 0;
};

struct Result {
  std::string log;  // who was asked for what: "SYSTEM LAUNCH:CELL ..."
  std::vector<Row> rows;
};

Result Compete(size_t cells, const std::vector<Script>& scripts, const ContestOptions& options) {
  std::vector<std::string> log;
  std::vector<Scripted> systems;
  for (const Script& script : scripts) systems.emplace_back(script, &log);
  std::vector<SystemUnderTest*> pointers;
  for (Scripted& system : systems) pointers.push_back(&system);
  std::vector<Row> rows;
  for (size_t i = 0; i < cells; ++i)
    rows.push_back({.what = absl::StrCat("cell ", i), .metric = "latency", .unit = "us"});
  Result result;
  RunContest(rows, pointers, options, [&](const Row& row) { result.rows.push_back(row); });
  result.log = absl::StrJoin(log, " ");
  return result;
}

// "SYSTEM / PEER METRIC MEDIAN" of a row.
std::string Text(const Row& row) {
  return absl::StrCat(row.system, row.peer.empty() ? "" : " / " + row.peer, " ", row.metric, " ", row.median);
}

TEST(ContestTest, RunsAreInterleaved) {
  EXPECT_EQ(Compete(2, {Always("a", 1), Always("b", 1), Always("c", 1)}, {.runs = 2}).log,
            "a0:0 a0:1 b0:0 b0:1 c0:0 c0:1 a1:0 a1:1 b1:0 b1:1 c1:0 c1:1");
}

TEST(ContestTest, ASlowPeerRunsNoMoreButTheFirstDoes) {
  const Result result = Compete(1, {Always("a", 1), Always("b", 1)}, {.runs = 3, .time_max = absl::ZeroDuration()});
  EXPECT_EQ(result.log, "a0:0 b0:0 a1:0 a2:0");
  EXPECT_EQ(result.rows[1].note, "1 runs");
  EXPECT_EQ(result.rows[2].metric, "ratio");
}

TEST(ContestTest, FiguresAreOverAllSamplesAndRatiosOverRuns) {
  // Runs at 10 and at 30 against 10 and 10: the machine was slower for nobody but us.
  const Script ours = {"copse", [](size_t, uint32_t run) { return std::vector<double>(2, 10.0 + 20 * run); }};
  const Script peer = {"peer", [](size_t, uint32_t) { return std::vector<double>{9, 10, 11}; }};
  const std::vector<Row> rows = Compete(1, {ours, peer}, {.runs = 2}).rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(Text(rows[0]), "copse latency 20");
  EXPECT_EQ(rows[0].algorithm, "copse-0");
  EXPECT_EQ(rows[0].runs, 4u);
  EXPECT_EQ(rows[0].note, "2 runs");
  EXPECT_EQ(Text(rows[1]), "peer latency 10");
  EXPECT_EQ(Text(rows[2]), "copse / peer ratio 2");
  EXPECT_EQ(rows[2].unit, "1");
  EXPECT_EQ(rows[2].runs, 2u);
  EXPECT_DOUBLE_EQ(rows[2].p90, 2.8);
}

TEST(ContestTest, OptionsSayWhoIsComparedWithWhom) {
  const std::vector<Script> scripts = {Always("a", 10), Always("b", 20), Always("c", 50)};
  const auto comparisons = [&](const ContestOptions& options) {
    const std::vector<Row> rows = Compete(1, scripts, options).rows;
    std::vector<std::string> texts;
    for (size_t i = scripts.size(); i < rows.size(); ++i) texts.push_back(Text(rows[i]));
    return texts;
  };
  EXPECT_EQ(comparisons({}), (std::vector<std::string>{"a / b ratio 0.5", "a / c ratio 0.2"}));
  EXPECT_EQ(comparisons({.ratios_to_first = true}), (std::vector<std::string>{"b / a ratio 2", "c / a ratio 5"}));
  EXPECT_EQ(comparisons({.pairs = {{"c", "b"}, {"a", "absent"}, {"a", "c"}}}),
            (std::vector<std::string>{"c / b ratio 2.5", "a / c ratio 0.2"}));
}

TEST(ContestTest, DifferencesAreOfTheMediansOfEachRun) {
  const Script more = {"more", [](size_t, uint32_t run) {
                         return std::vector<double>{run + 5.0, run + 7.0, run + 90.0};
                       }};
  const Script less = {"less", [](size_t, uint32_t run) { return std::vector<double>{3.0 * run}; }};
  const std::vector<Row> rows = Compete(1, {more, less}, {.runs = 3, .differences = true}).rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(Text(rows[2]), "more added 5");  // 7 - 0, 8 - 3, 9 - 6
  EXPECT_EQ(rows[2].unit, "us");
  EXPECT_EQ(rows[2].runs, 3u);
}

TEST(ContestTest, AnUnfinishedCellIsARowAndTheRestGoesOn) {
  const Result result = Compete(3, {Always("copse", 1), FailsAtOne("peer", 2)}, {.runs = 2});
  // Launched again for cell 2, and never again for cell 1.
  EXPECT_EQ(result.log,
            "copse0:0 copse0:1 copse0:2 peer0:0 peer0:1 peer1:2 copse1:0 copse1:1 copse1:2 peer2:0 peer2:2");
  ASSERT_EQ(result.rows.size(), 9u);  // three cells of two systems, and ratios
  EXPECT_EQ(Text(result.rows[4]), "peer unfinished 0");
  EXPECT_EQ(result.rows[4].note, "not finished in its time");
  EXPECT_EQ(Text(result.rows[5]), "copse / peer unfinished 0");
  EXPECT_EQ(Text(result.rows[8]), "copse / peer ratio 0.5");
}

TEST(ContestTest, WhoFailsOftenOrDoesNotStartIsNotAskedAgain) {
  const Result dies = Compete(4, {Fails("peer", absl::InternalError("it died"))}, {.runs = 3, .unfinished_max = 2});
  EXPECT_EQ(dies.log, "peer0:0 peer1:1");
  const Result absent =
      Compete(4, {Fails("peer", absl::UnavailableError("no start"))}, {.runs = 3, .unfinished_max = 9});
  EXPECT_EQ(absent.log, "peer0:0");
  for (const Result& result : {dies, absent}) {
    ASSERT_EQ(result.rows.size(), 4u);
    for (const Row& row : result.rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
  }
  EXPECT_EQ(dies.rows[1].note, "it died");
  EXPECT_EQ(absent.rows[0].note, "no start");
}

TEST(ContestTest, WhatHasBeenMeasuredStands) {
  const Result result = Compete(3, {FailsAtOne("peer", 7)}, {.runs = 3, .unfinished_max = 1});
  EXPECT_EQ(result.log, "peer0:0 peer0:1");
  EXPECT_EQ(result.rows[0].median, 7);
  EXPECT_EQ(result.rows[2].note, "not tried: other cells were not finished");
}

TEST(ContestTest, NothingIsComparedWithNothing) {
  EXPECT_EQ(Text(Compete(1, {Always("a", 1), Always("b", 0)}, {}).rows.at(2)), "a / b unfinished 0");
  const Script broken = Fails("b", absl::InternalError("broken"));
  EXPECT_EQ(Text(Compete(1, {Always("a", 1), broken}, {.differences = true}).rows.at(2)), "a unfinished 0");
}

}  // namespace
}  // namespace copse::bench
