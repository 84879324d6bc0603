// SPDX-License-Identifier: Apache-2.0
#include "bench/contest.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace copse::bench {
namespace {

// Answers with figures, and notes who was asked for what.
class Scripted final : public SystemUnderTest {
 public:
  using Answer = absl::StatusOr<std::vector<double>>;
  Scripted(std::string system, std::vector<std::string>* log,
           std::function<Answer(size_t cell, uint32_t launch)> answer)
      : system_(std::move(system)), log_(log), answer_(std::move(answer)) {}

  std::string name() const override { return system_; }
  std::string algorithm(size_t cell) const override { return absl::StrCat(system_, "-", cell); }
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override {
    for (const size_t cell : cells) {
      log_->push_back(absl::StrCat(system_, launches_, ":", cell));
      const Answer answer = answer_(cell, launches_);
      if (!answer.ok()) {
        ++launches_;
        return answer.status();
      }
      report(cell, *answer);
    }
    ++launches_;
    return absl::OkStatus();
  }

 private:
  const std::string system_;
  std::vector<std::string>* const log_;
  const std::function<Answer(size_t, uint32_t)> answer_;
  uint32_t launches_ = 0;
};

std::vector<Row> Cells(size_t count) {
  std::vector<Row> cells(count);
  for (size_t i = 0; i < count; ++i) {
    cells[i].bench = "contest";
    cells[i].what = absl::StrCat("cell ", i);
    cells[i].metric = "latency";
    cells[i].unit = "us";
  }
  return cells;
}

std::vector<Row> RowsOf(size_t cells, const std::vector<SystemUnderTest*>& systems, const ContestOptions& options) {
  std::vector<Row> rows;
  RunContest(Cells(cells), systems, options, [&](const Row& row) { rows.push_back(row); });
  return rows;
}

TEST(ContestTest, RunsAreInterleaved) {
  std::vector<std::string> log;
  const auto one = [](size_t, uint32_t) { return std::vector<double>{1}; };
  Scripted a("a", &log, one), b("b", &log, one), c("c", &log, one);
  RowsOf(2, {&a, &b, &c}, {.runs = 2});
  EXPECT_EQ(log, (std::vector<std::string>{"a0:0", "a0:1", "b0:0", "b0:1", "c0:0", "c0:1", "a1:0", "a1:1", "b1:0",
                                           "b1:1", "c1:0", "c1:1"}));
}

TEST(ContestTest, ASlowPeerRunsNoMoreButTheFirstDoes) {
  std::vector<std::string> log;
  const auto one = [](size_t, uint32_t) { return std::vector<double>{1}; };
  Scripted a("a", &log, one), b("b", &log, one);
  const std::vector<Row> rows = RowsOf(1, {&a, &b}, {.runs = 3, .time_max = absl::ZeroDuration()});
  EXPECT_EQ(log, (std::vector<std::string>{"a0:0", "b0:0", "a1:0", "a2:0"}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].note, "1 runs");
  EXPECT_EQ(rows[2].metric, "ratio");
}

TEST(ContestTest, FiguresAreOverAllSamplesAndRatiosOverRuns) {
  std::vector<std::string> log;
  // Runs at 10 and at 30 against 10 and 10: the machine was slower for nobody but us.
  Scripted a("copse", &log, [](size_t, uint32_t run) { return std::vector<double>{10.0 + 20 * run, 10.0 + 20 * run}; });
  Scripted b("peer", &log, [](size_t, uint32_t) { return std::vector<double>{9, 10, 11}; });
  const std::vector<Row> rows = RowsOf(1, {&a, &b}, {.runs = 2});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].system, "copse");
  EXPECT_EQ(rows[0].algorithm, "copse-0");
  EXPECT_EQ(rows[0].metric, "latency");
  EXPECT_EQ(rows[0].runs, 4u);
  EXPECT_DOUBLE_EQ(rows[0].median, 20);
  EXPECT_EQ(rows[0].note, "2 runs");
  EXPECT_EQ(rows[1].system, "peer");
  EXPECT_DOUBLE_EQ(rows[1].median, 10);
  EXPECT_EQ(rows[2].system, "copse");
  EXPECT_EQ(rows[2].peer, "peer");
  EXPECT_EQ(rows[2].metric, "ratio");
  EXPECT_EQ(rows[2].unit, "1");
  EXPECT_EQ(rows[2].runs, 2u);
  EXPECT_DOUBLE_EQ(rows[2].median, 2);
  EXPECT_DOUBLE_EQ(rows[2].p90, 2.8);
}

TEST(ContestTest, OthersMayBeMeasuredByTheFirst) {
  std::vector<std::string> log;
  Scripted a("now", &log, [](size_t, uint32_t) { return std::vector<double>{10}; });
  Scripted b("instead", &log, [](size_t, uint32_t) { return std::vector<double>{30}; });
  const std::vector<Row> rows = RowsOf(1, {&a, &b}, {.ratios_to_first = true});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].system, "instead");
  EXPECT_EQ(rows[2].peer, "now");
  EXPECT_EQ(rows[2].algorithm, "instead-0");
  EXPECT_DOUBLE_EQ(rows[2].median, 3);
}

TEST(ContestTest, PairsAreComparedByName) {
  std::vector<std::string> log;
  const auto answers = [](double value) { return [value](size_t, uint32_t) { return std::vector<double>{value}; }; };
  Scripted a("a", &log, answers(10)), b("b", &log, answers(20)), c("c", &log, answers(50));
  const std::vector<Row> rows = RowsOf(1, {&a, &b, &c}, {.pairs = {{"c", "b"}, {"a", "absent"}, {"a", "c"}}});
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[3].system + " / " + rows[3].peer, "c / b");
  EXPECT_DOUBLE_EQ(rows[3].median, 2.5);
  EXPECT_EQ(rows[4].system + " / " + rows[4].peer, "a / c");
  EXPECT_DOUBLE_EQ(rows[4].median, 0.2);
}

TEST(ContestTest, DifferencesAreOfTheMediansOfEachRun) {
  std::vector<std::string> log;
  Scripted a("more", &log, [](size_t, uint32_t run) { return std::vector<double>{run + 5.0, run + 7.0, run + 90.0}; });
  Scripted b("less", &log, [](size_t, uint32_t run) { return std::vector<double>{3.0 * run}; });
  const std::vector<Row> rows = RowsOf(1, {&a, &b}, {.runs = 3, .differences = true});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].metric, "added");
  EXPECT_EQ(rows[2].system, "more");
  EXPECT_EQ(rows[2].peer, "");
  EXPECT_EQ(rows[2].unit, "us");
  EXPECT_EQ(rows[2].runs, 3u);
  EXPECT_DOUBLE_EQ(rows[2].median, 5);  // 7 - 0, 8 - 3, 9 - 6
  EXPECT_NE(rows[2].note.find("beyond that of less"), std::string::npos) << rows[2].note;
}

TEST(ContestTest, AnUnfinishedCellHasNoDifference) {
  std::vector<std::string> log;
  Scripted a("more", &log, [](size_t, uint32_t) { return std::vector<double>{1}; });
  Scripted b("less", &log, [](size_t, uint32_t) -> Scripted::Answer { return absl::InternalError("broken"); });
  const std::vector<Row> rows = RowsOf(1, {&a, &b}, {.differences = true});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].metric, "unfinished");
  EXPECT_NE(rows[2].note.find("no difference"), std::string::npos) << rows[2].note;
}

TEST(ContestTest, AnUnfinishedCellIsARowAndTheRestGoesOn) {
  std::vector<std::string> log;
  Scripted a("copse", &log, [](size_t, uint32_t) { return std::vector<double>{1}; });
  Scripted b("peer", &log, [](size_t cell, uint32_t) -> Scripted::Answer {
    if (cell == 1) return absl::DeadlineExceededError("slow");
    return std::vector<double>{2};
  });
  const std::vector<Row> rows = RowsOf(3, {&a, &b}, {.runs = 2});
  // Launched again for cell 2, and never again for cell 1.
  EXPECT_EQ(log, (std::vector<std::string>{"copse0:0", "copse0:1", "copse0:2", "peer0:0", "peer0:1", "peer1:2",
                                           "copse1:0", "copse1:1", "copse1:2", "peer2:0", "peer2:2"}));
  ASSERT_EQ(rows.size(), 9u);  // three cells of two systems, and ratios
  EXPECT_EQ(rows[4].system, "peer");
  EXPECT_EQ(rows[4].metric, "unfinished");
  EXPECT_EQ(rows[4].note, "not finished in its time");
  EXPECT_EQ(rows[5].peer, "peer");
  EXPECT_EQ(rows[5].metric, "unfinished");
  EXPECT_EQ(rows[6].what, "cell 2");
  EXPECT_EQ(rows[8].metric, "ratio");
}

TEST(ContestTest, ASystemThatOftenFailsIsNotAskedAgain) {
  std::vector<std::string> log;
  Scripted a("peer", &log, [](size_t, uint32_t) -> Scripted::Answer { return absl::InternalError("it died"); });
  const std::vector<Row> rows = RowsOf(4, {&a}, {.runs = 3, .unfinished_max = 2});
  EXPECT_EQ(log, (std::vector<std::string>{"peer0:0", "peer1:1"}));
  ASSERT_EQ(rows.size(), 4u);
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
  EXPECT_EQ(rows[1].note, "it died");
  EXPECT_EQ(rows[2].note, "not tried: other cells were not finished");
}

TEST(ContestTest, WhatHasBeenMeasuredStands) {
  std::vector<std::string> log;
  Scripted a("peer", &log, [](size_t cell, uint32_t) -> Scripted::Answer {
    if (cell == 1) return absl::DeadlineExceededError("late");
    return std::vector<double>{7};
  });
  const std::vector<Row> rows = RowsOf(3, {&a}, {.runs = 3, .unfinished_max = 1});
  EXPECT_EQ(log, (std::vector<std::string>{"peer0:0", "peer0:1"}));
  EXPECT_EQ(rows[0].median, 7);
  EXPECT_EQ(rows[1].note, "not finished in its time");
  EXPECT_EQ(rows[2].note, "not tried: other cells were not finished");
}

TEST(ContestTest, WhoDoesNotStartIsNotAskedForOtherCells) {
  std::vector<std::string> log;
  Scripted a("peer", &log, [](size_t, uint32_t) -> Scripted::Answer { return absl::UnavailableError("no start"); });
  const std::vector<Row> rows = RowsOf(3, {&a}, {.runs = 3, .unfinished_max = 9});
  EXPECT_EQ(log, (std::vector<std::string>{"peer0:0"}));
  EXPECT_EQ(rows[0].note, "no start");
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
}

TEST(ContestTest, NothingIsDividedByNothing) {
  std::vector<std::string> log;
  Scripted a("copse", &log, [](size_t, uint32_t) { return std::vector<double>{1}; });
  Scripted b("peer", &log, [](size_t, uint32_t) { return std::vector<double>{0}; });
  const std::vector<Row> rows = RowsOf(1, {&a, &b}, {.runs = 1});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].metric, "unfinished");
  EXPECT_EQ(rows[2].note, "no ratio: the peer's is not above 0");
}

}  // namespace
}  // namespace copse::bench
