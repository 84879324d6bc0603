// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/statistics_json.h"

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace copse::mpi {
namespace {

using nlohmann::json;

constexpr uint64_t kMs = 1'000'000;

TEST(StatisticsJsonTest, HasAllThatTheTextHas) {
  CollectiveFigures row = {.entry = kEntryAllreduce,
                           .offloaded = 56,
                           .offloaded_ns = 600 * kMs,
                           .passed_ns = 30 * kMs,
                           .by_copse = {.calls = 46, .copse_ns = 500 * kMs, .mpi_ns = 750 * kMs},
                           .by_mpi = {.calls = 4, .copse_ns = 20 * kMs, .mpi_ns = 10 * kMs}};
  row.passed[static_cast<size_t>(Reason::kFirstCalls)] = 4;
  row.passed[static_cast<size_t>(Reason::kTrial)] = 5;
  EarlyFigures early = {.calls = 7, .inside_ns = 1 * kMs, .behind_ns = 9 * kMs, .waits = 3, .waited_ns = 10 * kMs};
  early.blocked[static_cast<size_t>(BlockReason::kTooShort)] = 2;
  const RunFigures figures = {.rank = 0,
                              .size = 4,
                              .collectives = {row, {.entry = kEntryBcast, .offloaded = 1}},
                              .formed = {1, 5 * kMs},
                              .not_formed = {2, 3 * kMs},
                              .early = early};
  const RunVerdict verdict = VerdictOf(figures, Settings(), 0);
  const std::string text = JsonOf(figures, verdict);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json document = json::parse(text);
  EXPECT_EQ(document["rank"], 0);
  EXPECT_EQ(document["ranks"], 4);
  ASSERT_EQ(document["collectives"].size(), 2u);
  EXPECT_EQ(document["collectives"][0], json::parse(R"({
    "name": "MPI_Allreduce", "offloaded": 56, "offloaded_s": 0.6, "by_mpi": 9, "by_mpi_s": 0.03,
    "reasons": {"first calls": 4, "measured beside Copse": 5},
    "compared_by_copse": {"calls": 46, "copse_s": 0.5, "mpi_s": 0.75},
    "compared_by_mpi": {"calls": 4, "copse_s": 0.02, "mpi_s": 0.01}})"));
  EXPECT_EQ(document["collectives"][1]["reasons"], json::object());
  EXPECT_EQ(document["teams"],
            json::parse(R"({"formed": 1, "formed_s": 0.005, "not_formed": 2, "not_formed_s": 0.003})"));
  json calls = document["early"];
  EXPECT_FALSE(calls["text"].get<std::string>().empty());
  calls.erase("text");
  EXPECT_EQ(calls, json::parse(R"({"calls": 7, "blocked": {"too short": 2}, "inside_s": 0.001, "behind_s": 0.009,
    "waits": 3, "waited_s": 0.01, "hidden_s": -0.002})"));
  EXPECT_EQ(document["verdict"]["outcome"], "faster");
  EXPECT_EQ(document["verdict"]["calls"], 66);
  EXPECT_EQ(document["verdict"]["offloaded"], 57);
  EXPECT_EQ(document["verdict"]["text"], verdict.text);
}

TEST(StatisticsJsonTest, QuotesInTextsAreEscaped) {
  RunFigures figures;
  RunVerdict verdict = VerdictOf(figures, Settings(), 0);
  verdict.text = "a \"word\" and a \\";
  const json document = json::parse(JsonOf(figures, verdict));
  EXPECT_EQ(document["verdict"]["text"], verdict.text);
  EXPECT_EQ(document["verdict"]["outcome"], "no-calls");
  EXPECT_FALSE(document.contains("early"));
}

}  // namespace
}  // namespace copse::mpi
