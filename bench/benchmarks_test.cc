// SPDX-License-Identifier: Apache-2.0
//
// Each benchmark of ranks, with all systems, as --quick runs it.
#include "bench/benchmarks.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

// Namespaces need root, and the fabric TUN.
bool Skipped(bool fabric) {
  const absl::Status possible = netns::CheckNamespaces(fabric);
  if (!possible.ok()) std::fprintf(stderr, "skipped: %s\n", possible.ToString().c_str());
  return !possible.ok();
}

void CheckFigures(const Row& row) {
  EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.what << ": " << row.note;
  EXPECT_GT(row.p10, 0) << row.system << ": " << row.what;
  EXPECT_LE(row.p10, row.median) << row.system << ": " << row.what;
  EXPECT_LE(row.median, row.p90) << row.system << ": " << row.what;
  EXPECT_EQ(row.algorithm.empty(), row.system != "copse") << row.system << ": " << row.what;
}

TEST(LatencyTest, EverySystemFinishesEveryCell) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  std::map<std::string, int> values, ratios;
  for (const Row& row : RunQuick("latency", {.only = "2x2"})) {
    CheckFigures(row);
    ++(row.peer.empty() ? values[row.system] : ratios[row.peer]);
  }
  EXPECT_EQ(values, (std::map<std::string, int>{{"copse", 5}, {"mpich", 5}, {"openmpi", 5}, {"sockets", 5}}));
  EXPECT_EQ(ratios, (std::map<std::string, int>{{"mpich", 5}, {"openmpi", 5}, {"sockets", 5}}));
}

TEST(LatencyTest, OthersComputeMeanwhile) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows = RunQuick("latency", {.only = " reduce 48 B, busy"});
  EXPECT_EQ(rows.size(), 7u);
  for (const Row& row : rows) CheckFigures(row);
}

TEST(LatencyTest, OnAFabricNothingIsFasterThanItsLinks) {
  if (Skipped(/*fabric=*/true)) GTEST_SKIP() << "needs root and TUN";
  int delays = 0;
  for (const Row& row : RunQuick("latency", {.only = "allreduce 48 B, fabric 1 ms"})) {
    CheckFigures(row);
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
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows =
      RunQuick("latency", {.cell_timeout = absl::ZeroDuration(), .only = "2x1 barrier, idle"});
  ASSERT_EQ(rows.size(), 7u);  // and three ratios
  for (const Row& row : rows) EXPECT_EQ(row.metric, "unfinished") << row.what;
}

TEST(OptionsTest, CellsAreWantedByPartsOfTheirNames) {
  Row row;
  row.bench = "latency";
  row.what = "allreduce 48 B, idle";
  row.nodes = 8;
  row.ppn = 2;
  for (const std::string only : {"", "8x2", "allreduce", "bcast|48 B", "8x2*idle", "latency*8x2 allreduce*, idle"}) {
    EXPECT_TRUE(Wanted({.only = only}, row)) << only;
  }
  for (const std::string only : {"8x1", "busy", "8x2*busy", "idle*8x2", "8x1|busy"}) {
    EXPECT_FALSE(Wanted({.only = only}, row)) << only;
  }
}

TEST(LatencyTest, WhatIsNotWantedIsNotMeasured) { EXPECT_TRUE(RunQuick("latency", {.only = "no such cell"}).empty()); }

TEST(CollectivesTest, EverySystemFinishesEveryCollective) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  std::map<std::string, int> values, ratios;
  for (const Row& row : RunQuick("collectives", {.only = "2x2"})) {
    if (row.metric == "cells not ahead" || row.metric == "worst ratio") {
      ++values[row.metric];
      continue;
    }
    CheckFigures(row);
    ++(row.peer.empty() ? values[row.system] : ratios[row.peer]);
  }
  EXPECT_EQ(values, (std::map<std::string, int>{
                        {"cells not ahead", 1}, {"copse", 31}, {"mpich", 31}, {"openmpi", 31}, {"worst ratio", 1}}));
  EXPECT_EQ(ratios, (std::map<std::string, int>{{"better MPI", 31}, {"mpich", 31}, {"openmpi", 31}}));
}

TEST(CollectivesTest, OnlyWhatIsWantedIsMeasuredOnAShapedLink) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows =
      RunQuick("collectives", {.runs = 2, .systems = {"copse"}, .only = "2x1 alltoall 256 KiB|2x1 gather 256 KiB"});
  ASSERT_EQ(rows.size(), 2u);
  for (const Row& row : rows) {
    CheckFigures(row);
    // A block crosses the link, less what its token bucket lets through at once.
    EXPECT_GT(row.median, 128 * 1024 * 8 / 1e3) << row.what;
    EXPECT_NE(row.note.find("2 runs"), std::string::npos) << row.note;
  }
}

// Rows by system, metric and peer: "copse p99", "copse ratio / link".
std::map<std::string, int> Kinds(const std::vector<Row>& rows) {
  std::map<std::string, int> kinds;
  for (const Row& row : rows) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.what << ": " << row.note;
    ++kinds[row.system + " " + row.metric + (row.peer.empty() ? "" : " / " + row.peer)];
  }
  return kinds;
}

TEST(GathervTest, RootsTreesAndLinearOnesAreComparedWarmAndCold) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows = RunQuick("gatherv", {});
  std::map<std::string, int> kinds = Kinds(rows);
  for (const std::string system : {"copse", "copse-known", "copse-linear", "copse-bt", "openmpi", "mpich"}) {
    EXPECT_EQ(kinds[system + " latency"], 3) << system;  // gather, gatherv, the first of a team
    for (const std::string metric : {"mean", "p99", "root's maximum"}) EXPECT_EQ(kinds[system + " " + metric], 2);
    EXPECT_EQ(kinds[system + " memory"], 1);
    EXPECT_EQ(kinds[system + " connections"], 1);
  }
  EXPECT_EQ(kinds["copse ratio / better MPI"], 4);
  EXPECT_EQ(kinds["copse ratio / copse-linear"], 4);
  for (const Row& row : rows) {
    const bool counts_nodes = row.metric == "connections" || row.metric == "children";
    if (!counts_nodes && row.metric != "memory") continue;
    EXPECT_GE(row.median, counts_nodes ? 1 : 1000) << row.system << ": " << row.metric;  // there is another node
  }
}

TEST(BandwidthTest, AllSystemsAreComparedAndCopseWithItsLink) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows = RunQuick("bandwidth", {});
  std::map<std::string, int> kinds = Kinds(rows);
  for (const std::string system : {"copse", "copse-copied", "openmpi", "mpich"}) {
    EXPECT_EQ(kinds[system + " latency"], 6) << system;
  }
  EXPECT_EQ(kinds["copse ratio / link"], 3);
  for (const Row& row : rows) {
    if (row.peer != "link") continue;
    EXPECT_GT(row.median, 0.9) << row.what << ": " << row.note;  // but for the token bucket
  }
}

TEST(OverlapTest, EverySystemSaysWhatItHasNotOverlapped) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows = RunQuick("overlap", {.only = "alltoall"});
  std::map<std::string, int> kinds = Kinds(rows);
  for (const std::string system : {"copse", "openmpi", "mpich"}) {
    for (const std::string metric : {"not overlapped", "communication", "total", "ratio / computation and costs"}) {
      EXPECT_EQ(kinds[system + " " + metric], 2) << system << " " << metric;
    }
  }
}

TEST(MemoryTest, DaemonsStayBelowTheirLimit) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows = RunQuick("memory", {});
  EXPECT_EQ(Kinds(rows), (std::map<std::string, int>{
                             {"copse memory", 1}, {"copse memory in all", 1}, {"copse ratio / memory_limit", 1}}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_LT(rows[2].median, 1);
  EXPECT_GT(rows[1].median, rows[0].median);
}

TEST(HopTest, EveryStepIsMeasured) {
  std::map<std::string, int> metrics;
  for (const Row& row : RunQuick("hop", {})) {
    EXPECT_NE(row.metric, "unfinished") << row.what << ": " << row.note;
    EXPECT_GT(row.median, 0) << row.what;
    ++metrics[row.metric];
  }
  EXPECT_EQ(metrics, (std::map<std::string, int>{{"instructions", 2}, {"latency", 6}, {"ratio", 2}}));
}

TEST(ShimTest, CallsAreComparedWithAndWithout) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  const std::vector<Row> rows = RunQuick("shim", {.only = "MPI_Exscan|MPI_Comm_rank"});
  std::map<std::string, int> kinds = Kinds(rows);
  for (const std::string library : {"openmpi", "mpich"}) {
    // Two calls on one rank, with daemons and without, and one before there is a team.
    EXPECT_EQ(kinds[library + " time"], 5) << library;
    for (const auto& [metric, count] : {std::pair("time", 5), {"added", 5}, {"worst added", 3}, {"median added", 3}}) {
      EXPECT_EQ(kinds[library + "+copse " + metric], count) << library << ": " << metric;
    }
  }
  EXPECT_EQ(rows.size(), 2u * (5 + 5 + 5 + 3 + 3));
}

TEST(ShimTest, StartsAreComparedWithAndWithout) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  std::map<std::string, int> kinds = Kinds(RunQuick("shim", {.only = "2x2 MPI_"}));
  for (const std::string library : {"openmpi", "mpich"}) {
    EXPECT_EQ(kinds[library + " time"], 9) << library;
    EXPECT_EQ(kinds[library + "+copse time"], 9) << library;
    EXPECT_EQ(kinds[library + "+copse added"], 9) << library;
  }
}

TEST(CommTest, EveryUseIsComparedWithAndWithout) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  std::map<std::string, int> kinds = Kinds(RunQuick("comm", {}));
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"mpich time", 8},
                                               {"mpich+copse ratio / mpich", 8},
                                               {"mpich+copse time", 8},
                                               {"openmpi time", 8},
                                               {"openmpi+copse ratio / openmpi", 8},
                                               {"openmpi+copse time", 8}}));
}

TEST(MpiCollectivesTest, EachLibraryIsComparedWithItselfAndWithCopse) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  std::map<std::string, int> kinds = Kinds(RunQuick("mpi-collectives", {.only = "idle"}));
  for (const std::string library : {"openmpi", "mpich"}) {
    const std::string both = library + "+copse ";
    EXPECT_EQ(kinds[library + " latency"], 16) << library;
    EXPECT_EQ(kinds[both + "latency"], 16) << library;
    EXPECT_EQ(kinds[both + "ratio / " + library], 16) << library;
    EXPECT_EQ(kinds[both + "ratio / copse"], 16) << library;
    EXPECT_EQ(kinds[both + "cells not ahead"], 1) << library;
  }
  EXPECT_EQ(kinds["copse latency"], 16);
}

TEST(NoiseTest, EverySystemFinishesEveryCell) {
  if (Skipped(/*fabric=*/false)) GTEST_SKIP() << "needs root";
  int values = 0;
  for (const Row& row : RunQuick("noise", {})) {
    if (!row.peer.empty()) continue;  // no ratio if a peer did not slow down
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.what << ": " << row.note;
    EXPECT_EQ(row.metric, "slowdown");
    EXPECT_GT(row.median, -100) << row.system;  // a loop never takes no time
    ++values;
  }
  EXPECT_EQ(values, 6);
}

TEST(HeteroTest, EverySystemCrossesTheSitesAndThePredictionIsThatOfThePlanThatRan) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) {
    GTEST_SKIP() << "needs root and TUN: " << possible;
  }
  std::map<std::string, int> values, ratios;
  const absl::Status status = RunBenchmark("hetero", {.quick = true, .only = "allreduce 48 B"}, [&](const Row& row) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.note;
    if (!row.peer.empty()) {
      EXPECT_EQ(row.metric, "ratio");
      EXPECT_GT(row.median, 0) << row.peer;
      ++ratios[row.peer];
      return;
    }
    ++values[row.system + " " + row.metric];
    EXPECT_EQ(row.algorithm.empty(), row.system == "openmpi" || row.system == "mpich") << row.system;
    // Nobody hears of the farthest earlier, by far not.
    if (row.metric == "latency") {
      EXPECT_GT(row.median, 10'000) << row.system;
    } else {
      EXPECT_EQ(row.algorithm, "hierarchical");
      EXPECT_NE(row.note.find("predicted 1"), std::string::npos) << row.note;  // 10,000 to 19,999 us
    }
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(values, (std::map<std::string, int>{{"copse-best latency", 1},
                                                {"copse-best prediction error", 1},
                                                {"copse-bt latency", 1},
                                                {"copse-mgo latency", 1},
                                                {"mpich latency", 1},
                                                {"openmpi latency", 1}}));
  EXPECT_EQ(ratios, (std::map<std::string, int>{
                        {"better MPI", 1}, {"copse-bt", 1}, {"copse-mgo", 1}, {"mpich", 1}, {"openmpi", 1}}));
}

TEST(HeteroTest, BlocksGoOverTreesThatKnowTheSites) {
  if (const absl::Status possible = netns::CheckNamespaces(/*fabric=*/true); !possible.ok()) {
    GTEST_SKIP() << "needs root and TUN: " << possible;
  }
  std::map<std::string, int> kinds;
  const absl::Status status = RunBenchmark("hetero", {.quick = true, .only = " gather 1 kB"}, [&](const Row& row) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.note;
    ++kinds[row.system + " " + row.metric];
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"copse-best latency", 1},
                                               {"copse-best prediction error", 1},
                                               {"copse-best ratio", 5},
                                               {"copse-bt latency", 1},
                                               {"copse-mgo latency", 1},
                                               {"mpich latency", 1},
                                               {"openmpi latency", 1}}));
}

// The pairs compare what has come with what was sent: a cell with wrong bytes is unfinished.
TEST(TransferTest, EveryWayBringsEveryPiece) {
  std::map<std::string, int> values, ratios;
  const absl::Status status = RunBenchmark("transfer", {.quick = true}, [&](const Row& row) {
    EXPECT_NE(row.metric, "unfinished") << row.system << ": " << row.what << ": " << row.note;
    EXPECT_GT(row.p10, 0) << row.system << ": " << row.what;
    ++(row.peer.empty() ? values : ratios)[row.system];
    if (row.peer.empty()) return;
    EXPECT_EQ(row.peer, "ucx-eager");
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(values, (std::map<std::string, int>{
                        {"ucx-eager", 8}, {"ucx-eager-copied", 8}, {"ucx-put", 8}, {"ucx-rendezvous", 8}}));
  EXPECT_EQ(ratios, (std::map<std::string, int>{{"ucx-eager-copied", 8}, {"ucx-put", 8}, {"ucx-rendezvous", 8}}));
}

TEST(TransferTest, OnlyWhatIsWantedIsMeasured) {
  int rows = 0;
  const Options options = {.quick = true, .systems = {"ucx-put"}, .only = "32 KiB, throughput"};
  const absl::Status status = RunBenchmark("transfer", options, [&](const Row& row) {
    EXPECT_EQ(row.system, "ucx-put");
    EXPECT_EQ(row.what, "pieces of 32 KiB, throughput");
    EXPECT_EQ(row.unit, "MB/s");
    ++rows;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(rows, 1);
}

}  // namespace
}  // namespace copse::bench
