// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "nlohmann/json.hpp"

namespace copse::bench {
namespace {

const Provenance kProvenance = {
    .date = "2026-11-21", .commit = "abc", .command = "tools/bench latency", .machine = "2 cores"};

Row Example() {
  return {.bench = "latency",
          .what = "allreduce 48 B, idle",
          .system = "copse",
          .nodes = 4,
          .ppn = 2,
          .metric = "latency",
          .unit = "us"};
}

nlohmann::json JsonOf(const Row& row) { return nlohmann::json::parse(ToJson(row, kProvenance)); }

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
  const nlohmann::json json = JsonOf(Example());
  for (const char* field :
       {"bench", "case", "system", "collective", "algorithm", "nodes", "ppn",  "ranks",  "bytes",   "metric", "unit",
        "runs",  "p10",  "median", "p90",        "seed",      "note",  "date", "commit", "command", "machine"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_EQ(json["ranks"], 8);
  EXPECT_EQ(json["command"], "tools/bench latency");
  for (const char* field : {"target", "met", "peer"}) EXPECT_FALSE(json.contains(field)) << field;
}

TEST(RowTest, ARatioNamesThePeer) {
  Row row = Example();
  row.peer = "openmpi";
  EXPECT_EQ(JsonOf(row)["peer"], "openmpi");
  EXPECT_NE(ToTableLine(row).find("copse / openmpi"), std::string::npos);
}

TEST(RowTest, ATargetSaysWhetherItWasMet) {
  Row row = Example();
  EXPECT_EQ(ToTableLine(row).find("met"), std::string::npos);
  row.target = 10;
  for (const auto& [median, metric, met] :
       {std::tuple(10, "latency", true), std::tuple(11, "latency", false), std::tuple(0, "unfinished", false)}) {
    row.median = median;
    row.metric = metric;
    EXPECT_EQ(JsonOf(row)["met"], met) << metric << " " << median;
    EXPECT_NE(ToTableLine(row).find(met ? "10    met" : "10    missed"), std::string::npos) << metric << " " << median;
  }
  EXPECT_EQ(ToTableLine(row).find(" 0 "), std::string::npos);  // an unfinished cell shows no figures
}

TEST(RowTest, TheTableNamesMetricsThatTheUnitDoesNotTell) {
  Row row = Example();
  EXPECT_EQ(ToTableLine(row).find(", latency"), std::string::npos);
  row.metric = "lateness p99";
  EXPECT_NE(ToTableLine(row).find(row.what + ", lateness p99\n"), std::string::npos);
}

TEST(RowTest, CopseIsToldFromItsPeers) {
  for (const char* system : {"copse", "copse-linear", "openmpi+copse", "mpich+copse", "mpich+copse-tnbc"}) {
    EXPECT_TRUE(HasCopse(system)) << system;
  }
  for (const char* system : {"openmpi", "mpich", "sockets", "ucx"}) EXPECT_FALSE(HasCopse(system)) << system;
}

}  // namespace
}  // namespace copse::bench
