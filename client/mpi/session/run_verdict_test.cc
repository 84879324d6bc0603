// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/run_verdict.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using copse::testing::Names;
using ::testing::Not;
using Outcome = RunVerdict::Outcome;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kWorthNs = 1000 * kMs;
const Settings kFaster = {.calls_before = 64, .calls_before_of_world = 4};
const Settings kAll = {.calls_before = 9, .calls_before_of_world = 7, .weighs_teams = false, .chooses_path = false};

// Returns calls that MPI made for `reason`.
CollectiveFigures Passed(Reason reason, uint64_t calls, uint64_t ns) {
  CollectiveFigures row = {.entry = kEntryBarrier, .passed_ns = ns};
  row.passed[static_cast<size_t>(reason)] = calls;
  return row;
}
RunVerdict VerdictOn(const CollectiveFigures& row, const Settings& settings = kFaster) {
  return VerdictOf({.collectives = {row}}, settings, kWorthNs);
}
// Returns the verdict on calls that were all timed both ways.
RunVerdict VerdictOnCompared(const ComparedCalls& by_copse, const ComparedCalls& by_mpi) {
  CollectiveFigures row = Passed(Reason::kTrial, by_mpi.calls, by_mpi.mpi_ns);
  row.offloaded = by_copse.calls;
  row.offloaded_ns = by_copse.copse_ns;
  row.by_copse = by_copse;
  row.by_mpi = by_mpi;
  return VerdictOn(row);
}

TEST(VerdictOfTest, WithoutCallsThereIsNothingToSay) {
  const RunVerdict verdict = VerdictOf({}, kFaster, kWorthNs);
  EXPECT_EQ(verdict.outcome, Outcome::kNoCalls);
  EXPECT_THAT(verdict.text, Names("calls=0"));
}

TEST(VerdictOfTest, FirstCallsAreToldWhatMakesThemFewer) {
  const CollectiveFigures row = Passed(Reason::kFirstCalls, 2000, 31 * kMs);
  const RunVerdict verdict = VerdictOn(row);
  EXPECT_EQ(verdict.outcome, Outcome::kNotOffloaded);
  EXPECT_THAT(verdict.text, Names("31 ms", "calls=2000", "first calls=2000", "4 calls of MPI_COMM_WORLD, 64 of another",
                                  "take 1 s", "--offload all", "--calls-before 4"));
  EXPECT_THAT(VerdictOn(row, kAll).text, Names("7 calls of MPI_COMM_WORLD, 9 of another", "--calls-before"));
  EXPECT_THAT(VerdictOn(row, kAll).text, Not(Names("--offload all")));
}

TEST(VerdictOfTest, OtherReasonsAreNamedWithWhatHelps) {
  EXPECT_THAT(VerdictOn(Passed(Reason::kNoDaemons, 5, 0)).text,
              Names("not all ranks have a daemon=5", "copse-run --daemons"));
  EXPECT_THAT(VerdictOn(Passed(Reason::kNoLibrary, 5, 0)).text,
              Names("not all ranks have the library=5", "LD_PRELOAD"));
  EXPECT_THAT(VerdictOn(Passed(Reason::kNoTeam, 5, 0)).text, Names("no team=5", "copsectl doctor"));
  EXPECT_THAT(VerdictOn(Passed(Reason::kOneRank, 5, 0)).text, Names("one rank=5"));
  EXPECT_THAT(VerdictOn(Passed(Reason::kTooLong, 5, 0)).text, Names("too long=5", "mpi.md"));
}

TEST(VerdictOfTest, TheReasonOfMostCallsCounts) {
  const RunFigures figures = {
      .collectives = {Passed(Reason::kFirstCalls, 4, 0), Passed(Reason::kType, 3, 0), Passed(Reason::kType, 3, 0)}};
  EXPECT_THAT(VerdictOf(figures, kFaster, kWorthNs).text, Names("calls=10", "operation and type=6"));
}

TEST(VerdictOfTest, WhatWasNotTimedBothWaysIsNotGuessed) {
  CollectiveFigures row = Passed(Reason::kFirstCalls, 4, kMs);
  row.offloaded = 56;
  row.offloaded_ns = 601 * kMs;
  const RunVerdict all = VerdictOn(row, kAll);
  EXPECT_EQ(all.outcome, Outcome::kNotMeasured);
  EXPECT_THAT(all.text, Names("calls=60", "offloaded=56", "601 ms", "compared=0", "--offload all"));
  EXPECT_THAT(VerdictOn(row).text, Names("compared=0"));
  EXPECT_THAT(VerdictOn(row).text, Not(Names("--offload all")));
}

TEST(VerdictOfTest, SavedTimeIsThatOfTheCallsOfCopse) {
  const RunVerdict verdict = VerdictOnCompared({.calls = 46, .copse_ns = 480 * kMs, .mpi_ns = 600 * kMs},
                                               {.calls = 4, .copse_ns = 90 * kMs, .mpi_ns = 40 * kMs});
  EXPECT_EQ(verdict.outcome, Outcome::kFaster);
  EXPECT_THAT(verdict.text,
              Names("saved about 120 ms", "46 took the slowest rank 480 ms", "600 ms", "4 went by MPI in 40 ms",
                    "90 ms", "calls=50", "offloaded=46", "compared=50", "measured beside Copse=4", "saved=19%"));
}

TEST(VerdictOfTest, LostTimeIsTold) {
  const RunVerdict always = VerdictOnCompared({.calls = 40, .copse_ns = 500 * kMs, .mpi_ns = 400 * kMs}, {});
  EXPECT_EQ(always.outcome, Outcome::kSlower);
  EXPECT_THAT(always.text, Names("cost about 100 ms", "saved=-25%", "without copse-run"));
  const RunVerdict measuring = VerdictOnCompared({.calls = 16, .copse_ns = 160 * kMs, .mpi_ns = 16 * kMs},
                                                 {.calls = 500, .copse_ns = 5000 * kMs, .mpi_ns = 500 * kMs});
  EXPECT_EQ(measuring.outcome, Outcome::kSlower);
  EXPECT_THAT(measuring.text, Names("cost about 144 ms", "saved=-28%", "measuring", "without copse-run"));
}

TEST(VerdictOfTest, AFewHundredthsAreNoDifference) {
  const ComparedCalls by_copse = {.calls = 20, .copse_ns = 104 * kMs, .mpi_ns = 100 * kMs};
  const RunVerdict verdict = VerdictOnCompared(by_copse, {});
  EXPECT_EQ(verdict.outcome, Outcome::kAlike);
  EXPECT_THAT(verdict.text, Names("saved=-4%"));
  EXPECT_THAT(verdict.text, Not(Names("MPI alone")));
  EXPECT_THAT(VerdictOnCompared(by_copse, {.calls = 21, .copse_ns = 200 * kMs, .mpi_ns = 100 * kMs}).text,
              Names("saved=-2%", "MPI alone"));
}

TEST(VerdictOfTest, ManyFirstCallsAreTold) {
  CollectiveFigures row = Passed(Reason::kFirstCalls, 300, kMs);
  row.offloaded = 46;
  row.by_copse = {.calls = 46, .copse_ns = 300 * kMs, .mpi_ns = 600 * kMs};
  EXPECT_THAT(VerdictOn(row).text, Names("saved=50%", "first calls=300", "--calls-before 4"));
}

}  // namespace
}  // namespace copse::mpi
