// SPDX-License-Identifier: Apache-2.0
//
// Each benchmark of ranks, with all systems, as --quick runs it.
#include "bench/benchmarks.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "testbed/netns/test_network.h"

namespace copse::bench {
namespace {

std::vector<Row> RunQuick(const std::string& name, Options options) {
  options.quick = true;
  std::vector<Row> rows;
  const absl::Status status = RunBenchmark(name, options, [&](const Row& row) { rows.push_back(row); });
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

// Rows by system, metric and peer: "copse p99", "copse ratio / link".
using Kinds = std::map<std::string, int>;

// The kinds that each of the systems has, by what comes behind its name.
Kinds Each(const std::vector<std::string>& systems, const Kinds& kinds) {
  Kinds all;
  for (const std::string& system : systems) {
    for (const auto& [kind, count] : kinds) all[system + " " + kind] = count;
  }
  return all;
}

Kinds operator+(Kinds kinds, const Kinds& more) {
  kinds.insert(more.begin(), more.end());
  return kinds;
}

// Counts a row of a cell that is finished.
void CountKind(const Row& row, Kinds* kinds) {
  EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.what << ": " << row.note;
  EXPECT_LE(row.p10, row.median) << row.system << ": " << row.what;
  EXPECT_LE(row.median, row.p90) << row.system << ": " << row.what;
  ++(*kinds)[row.system + " " + row.metric + (row.peer.empty() ? "" : " / " + row.peer)];
}

// What is impossible here: namespaces need root.
enum class Needs { kNothing, kNamespaces };

struct QuickRun {
  const char* test;
  const char* bench;
  Options options;
  Needs needs;
  Kinds kinds;
};

const std::vector<std::string> kMpi = {"openmpi", "mpich"}, kMpiCopse = {"openmpi+copse", "mpich+copse"},
                               kAll = {"copse", "openmpi", "mpich"};

const QuickRun kRuns[] = {
    {"Latency",
     "latency",
     {.only = "2x2"},
     Needs::kNamespaces,
     Each({"copse", "mpich", "openmpi", "sockets"}, {{"latency", 5}}) +
         Each({"copse"}, {{"ratio / mpich", 5}, {"ratio / openmpi", 5}, {"ratio / sockets", 5}})},
    {"LatencyBesideComputation",
     "latency",
     {.only = " reduce 48 B, busy"},
     Needs::kNamespaces,
     Each({"copse", "mpich", "openmpi", "sockets"}, {{"latency", 1}}) +
         Each({"copse"}, {{"ratio / mpich", 1}, {"ratio / openmpi", 1}, {"ratio / sockets", 1}})},
    {"WhatIsNotWanted", "latency", {.only = "no such cell"}, Needs::kNothing, {}},
    {"Collectives",
     "collectives",
     {.only = "2x2 barrier|2x2*8 B|2x2 alltoall 64 KiB"},
     Needs::kNamespaces,
     Each(kAll, {{"latency", 17}}) + Each({"copse"}, {{"ratio / mpich", 17},
                                                      {"ratio / openmpi", 17},
                                                      {"ratio / better MPI", 17},
                                                      {"cells not ahead", 1},
                                                      {"worst ratio", 1}})},
    {"Gatherv",
     "gatherv",
     {},
     Needs::kNamespaces,
     Each({"copse", "copse-known", "copse-linear", "copse-bt"}, {{"latency", 3}, {"children", 1}}) +
         Each(kMpi, {{"latency", 3}}) +
         Each({"copse ratio /"}, {{"copse-known", 3},
                                  {"copse-linear", 3},
                                  {"copse-bt", 3},
                                  {"openmpi", 3},
                                  {"mpich", 3},
                                  {"better MPI", 3}})},
    {"Bandwidth",
     "bandwidth",
     {.only = "allreduce|allgather 4 MiB, shaped"},
     Needs::kNamespaces,
     Each({"copse", "copse-copied", "openmpi", "mpich"}, {{"latency", 3}}) +
         Each({"copse ratio /"}, {{"copse-copied", 3}, {"openmpi", 3}, {"mpich", 3}, {"better MPI", 3}, {"link", 2}})},
    {"Overlap",
     "overlap",
     {.only = "alltoall"},
     Needs::kNamespaces,
     Each(kAll, {{"not overlapped", 2}, {"communication", 2}, {"total", 2}, {"ratio / computation and costs", 2}})},
    {"Launch",
     "launch",
     {},
     Needs::kNamespaces,
     Each(kMpi, {{"time", 2}}) + Each(kMpiCopse, {{"time", 2}, {"added", 2}})},
    {"Shares",
     "shares",
     {},
     Needs::kNamespaces,
     Each({"copse-tcp"}, {{"alone", 1},
                          {"alone, p99", 1},
                          {"beside", 1},
                          {"beside, p99", 1},
                          {"added, p99", 1},
                          {"bulk alone", 1},
                          {"bulk beside", 1},
                          {"bulk's slowdown", 1}})},
    {"Hostile",
     "hostile",
     {.only = "quotas|vain rings"},
     Needs::kNamespaces,
     Each({"copse"}, {{"beside hostile", 3}, {"beside harmless", 3}, {"refused", 3}, {"ratio / harmless", 3}})},
    {"Memory", "memory", {}, Needs::kNamespaces, Each({"copse"}, {{"memory", 1}, {"ratio / memory_limit", 1}})},
    {"Hop",
     "hop",
     {},
     Needs::kNothing,
     Each({"copse"}, {{"instructions", 1}, {"latency", 4}, {"ratio / ucx", 2}}) + Each({"ucx"}, {{"latency", 2}})},
    {"ShimCalls",
     "shim",
     {.only = "MPI_Exscan|MPI_Comm_rank"},
     Needs::kNamespaces,
     // Two calls on one rank, with daemons and without, and one before there is a team.
     Each(kMpi, {{"time", 5}}) + Each(kMpiCopse, {{"time", 5}, {"added", 5}, {"worst added", 3}, {"median added", 3}})},
    {"ShimStarts",
     "shim",
     {.only = "2x2 MPI_"},
     Needs::kNamespaces,
     Each(kMpi, {{"time", 9}}) + Each(kMpiCopse, {{"time", 9}, {"added", 9}})},
    {"Comm",
     "comm",
     {},
     Needs::kNamespaces,
     Each(kMpi, {{"time", 8}}) + Each(kMpiCopse, {{"time", 8}}) +
         Kinds{{"openmpi+copse ratio / openmpi", 8}, {"mpich+copse ratio / mpich", 8}}},
    {"MpiCollectives",
     "mpi-collectives",
     {.only = "idle"},
     Needs::kNamespaces,
     Each(kMpi, {{"latency", 16}}) + Each({"copse"}, {{"latency", 16}}) +
         Each(kMpiCopse, {{"latency", 16}, {"ratio / copse", 16}, {"cells not ahead", 1}, {"worst ratio", 1}}) +
         Kinds{{"openmpi+copse ratio / openmpi", 16}, {"mpich+copse ratio / mpich", 16}}},
    // The pairs compare what has come with what was sent: a cell with wrong bytes is unfinished.
    {"Transfer",
     "transfer",
     {},
     Needs::kNothing,
     Each({"ucx-eager", "ucx-eager-copied", "ucx-put", "ucx-rendezvous"}, {{"throughput", 4}, {"processor time", 4}}) +
         Each({"ucx-eager-copied", "ucx-put", "ucx-rendezvous"}, {{"ratio / ucx-eager", 8}})},
    {"TransferOfOneSystem",
     "transfer",
     {.systems = {"ucx-put"}, .only = "32 KiB, throughput"},
     Needs::kNothing,
     {{"ucx-put throughput", 1}}},
};

class QuickRunTest : public ::testing::TestWithParam<QuickRun> {};

TEST_P(QuickRunTest, EverySystemFinishesEveryCell) {
  const QuickRun& run = GetParam();
  if (run.needs != Needs::kNothing) {
    const absl::Status possible = netns::CheckNamespaces(/*fabric=*/false);
    if (!possible.ok()) GTEST_SKIP() << possible;
  }
  Kinds kinds;
  for (const Row& row : RunQuick(run.bench, run.options)) {
    CountKind(row, &kinds);
  }
  EXPECT_EQ(kinds, run.kinds);
}

INSTANTIATE_TEST_SUITE_P(Benchmarks, QuickRunTest, ::testing::ValuesIn(kRuns),
                         [](const auto& tested) { return tested.param.test; });

TEST(LatencyTest, OnAFabricNothingIsFasterThanItsLinks) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) GTEST_SKIP() << possible;
  int delays = 0;
  for (const Row& row : RunQuick("latency", {.only = "allreduce 48 B, fabric 1 ms"})) {
    if (row.metric == "latency") {
      EXPECT_GT(row.median, 1000) << row.system;
    }
    if (row.peer != "critical path") continue;
    EXPECT_GT(row.median, 1) << row.what;
    EXPECT_NE(row.note.find("1 hops of 1ms"), std::string::npos) << row.note;
    ++delays;
  }
  EXPECT_EQ(delays, 2);
}

TEST(LatencyTest, ACellThatTakesTooLongIsUnfinished) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/false); !possible.ok()) GTEST_SKIP() << possible;
  const std::vector<Row> rows =
      RunQuick("latency", {.cell_timeout = absl::ZeroDuration(), .only = "2x1 barrier, idle"});
  ASSERT_EQ(rows.size(), 7u);  // and three ratios
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
}

TEST(CollectivesTest, ABlockCrossesTheShapedLink) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/false); !possible.ok()) GTEST_SKIP() << possible;
  const std::vector<Row> rows =
      RunQuick("collectives", {.runs = 2, .systems = {"copse"}, .only = "2x1 alltoall 256 KiB|2x1 gather 256 KiB"});
  ASSERT_EQ(rows.size(), 2u);
  for (const Row& row : rows) {
    EXPECT_GT(row.median, 128 * 1024 * 8 / 1e3) << row.what;  // less what its token bucket lets through at once
    EXPECT_NE(row.note.find("2 runs"), std::string::npos) << row.note;
  }
}

TEST(NoiseTest, EverySystemFinishesTheCell) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/false); !possible.ok()) GTEST_SKIP() << possible;
  int values = 0;
  for (const Row& row : RunQuick("noise", {})) {
    if (!row.peer.empty()) continue;  // there is no ratio if a peer did not slow down
    EXPECT_EQ(row.metric, "slowdown") << row.system << ": " << row.note;
    EXPECT_GT(row.median, -100) << row.system;  // a loop never takes no time
    ++values;
  }
  EXPECT_EQ(values, 3);
}

TEST(HeteroTest, ThePredictionIsThatOfThePlanThatRan) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) GTEST_SKIP() << possible;
  Kinds kinds;
  for (const Row& row : RunQuick("hetero", {.only = "allreduce 48 B| gather 1 kB"})) {
    CountKind(row, &kinds);
    if (row.what != "allreduce 48 B") continue;
    if (row.metric == "latency") {
      EXPECT_GT(row.median, 10'000) << row.system;  // the farthest are 10 ms away
    }
    if (row.metric != "prediction error") continue;
    EXPECT_EQ(row.algorithm, "hierarchical");
    EXPECT_NE(row.note.find("predicted 1"), std::string::npos) << row.note;  // 10,000 to 19,999 us
  }
  EXPECT_EQ(kinds, Each({"copse-best", "copse-mgo", "copse-bt", "openmpi", "mpich"}, {{"latency", 2}}) +
                       Each({"copse-best"}, {{"prediction error", 2}}) +
                       Each({"copse-best ratio /"},
                            {{"copse-mgo", 2}, {"copse-bt", 2}, {"openmpi", 2}, {"mpich", 2}, {"better MPI", 2}}));
}

TEST(PageTest, ABrowserSeesAllNodes) {
  Kinds kinds;
  for (const Row& row : RunQuick("page", {})) {
    if (absl::StartsWith(row.note, "skipped: ")) GTEST_SKIP() << row.note;
    CountKind(row, &kinds);
    if (row.metric == "first paint" || row.metric == "memory") {
      EXPECT_GT(row.median, 0) << row.metric;
    }
  }
  EXPECT_EQ(
      kinds,
      Each({"copse"},
           {{"first paint", 1}, {"memory", 1}, {"longest task", 1}, {"planner", 2}, {"copse-web", 1}, {"scrape", 1}}));
}

TEST(ScrapeTest, ANodeIsScraped) {
  Kinds kinds;
  for (const Row& row : RunQuick("scrape", {})) {
    CountKind(row, &kinds);
    if (row.metric == "time") {
      EXPECT_GT(row.median, 0);
    }
  }
  EXPECT_EQ(kinds, Each({"copse"}, {{"time", 1}, {"cpu", 1}, {"loop", 1}}));
}

TEST(OptionsTest, CellsAreWantedByPartsOfTheirNames) {
  const Row row = {.bench = "latency", .what = "allreduce 48 B, idle", .nodes = 8, .ppn = 2};
  for (const std::string only : {"", "8x2", "allreduce", "bcast|48 B", "8x2*idle", "latency*8x2 allreduce*, idle"}) {
    EXPECT_TRUE(Wanted({.only = only}, row)) << only;
  }
  for (const std::string only : {"8x1", "busy", "8x2*busy", "idle*8x2", "8x1|busy"}) {
    EXPECT_FALSE(Wanted({.only = only}, row)) << only;
  }
}

}  // namespace
}  // namespace copse::bench
