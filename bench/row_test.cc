// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace copse::bench {
namespace {

const Provenance kProvenance = {
    .date = "2026-11-21", .commit = "abc", .command = "tools/bench latency", .machine = "2 cores"};

Row Example() {
  Row row;
  row.bench = "latency";
  row.what = "allreduce 48 B, idle";
  row.system = "copse";
  row.nodes = 4;
  row.ppn = 2;
  row.metric = "latency";
  row.unit = "us";
  return row;
}

TEST(SummarizeTest, QuantilesLieBetweenTheValuesAroundThem) {
  Row row;
  Summarize({5, 1, 4, 2, 3}, &row);
  EXPECT_EQ(row.runs, 5u);
  EXPECT_DOUBLE_EQ(row.p10, 1.4);
  EXPECT_DOUBLE_EQ(row.median, 3);
  EXPECT_DOUBLE_EQ(row.p90, 4.6);
  Summarize({1, 2}, &row);
  EXPECT_DOUBLE_EQ(row.median, 1.5);
  Summarize({7}, &row);
  EXPECT_DOUBLE_EQ(row.p10, 7);
  EXPECT_DOUBLE_EQ(row.p90, 7);
}

TEST(RowTest, JsonHasEveryFieldOfTheInterface) {
  const auto json = nlohmann::json::parse(ToJson(Example(), kProvenance));
  for (const char* field :
       {"bench", "case", "system", "collective", "algorithm", "nodes", "ppn",  "ranks",  "bytes",   "metric", "unit",
        "runs",  "p10",  "median", "p90",        "seed",      "note",  "date", "commit", "command", "machine"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["ranks"], 8);
  EXPECT_FALSE(json.contains("target"));
  EXPECT_FALSE(json.contains("met"));
  EXPECT_FALSE(json.contains("peer"));
  EXPECT_EQ(json["command"], "tools/bench latency");
}

TEST(RowTest, ARatioNamesThePeer) {
  Row row = Example();
  row.metric = "ratio";
  row.peer = "openmpi";
  EXPECT_EQ(nlohmann::json::parse(ToJson(row, kProvenance))["peer"], "openmpi");
  EXPECT_NE(ToTableLine(row).find("copse / openmpi"), std::string::npos);
}

TEST(RowTest, TheTableSaysWhetherATargetWasMet) {
  Row row = Example();
  EXPECT_EQ(ToTableLine(row).find("met"), std::string::npos);
  row.target = 10;
  row.median = 9;
  EXPECT_NE(ToTableLine(row).find("10    met"), std::string::npos);
  row.median = 11;
  EXPECT_NE(ToTableLine(row).find("10    missed"), std::string::npos);
}

TEST(RowTest, TheTableNamesMetricsThatTheUnitDoesNotTell) {
  Row row = Example();
  row.metric = "latency";
  EXPECT_EQ(ToTableLine(row).find(", latency"), std::string::npos);
  row.metric = "lateness p99";
  EXPECT_NE(ToTableLine(row).find(row.what + ", lateness p99\n"), std::string::npos);
}

TEST(RowTest, ATargetSaysWhetherItWasMet) {
  Row row = Example();
  row.target = 10;
  row.median = 10;
  EXPECT_EQ(nlohmann::json::parse(ToJson(row, kProvenance))["met"], true);
  row.median = 10.5;
  EXPECT_EQ(nlohmann::json::parse(ToJson(row, kProvenance))["met"], false);
  row.median = 0;
  row.metric = "unfinished";
  EXPECT_EQ(nlohmann::json::parse(ToJson(row, kProvenance))["met"], false);
}

TEST(RowTest, AnUnfinishedCellShowsNoFigures) {
  Row row = Example();
  row.metric = "unfinished";
  EXPECT_NE(ToTableLine(row).find("unfinished"), std::string::npos);
  EXPECT_EQ(ToTableLine(row).find(" 0 "), std::string::npos);
}

TEST(RowTest, CopseIsToldFromItsPeers) {
  for (const char* system : {"copse", "copse-linear", "openmpi+copse", "mpich+copse", "mpich+copse-tnbc"}) {
    EXPECT_TRUE(HasCopse(system)) << system;
  }
  for (const char* system : {"openmpi", "mpich", "sockets", "ucx"}) EXPECT_FALSE(HasCopse(system)) << system;
}

}  // namespace
}  // namespace copse::bench
