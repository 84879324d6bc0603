// SPDX-License-Identifier: Apache-2.0
#include "bench/cases.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "yaml-cpp/yaml.h"

namespace copse::bench {
namespace {

TEST(DataTest, ListsStandForLines) {
  const YAML::Node map = YAML::Load(
      "{case: '{call} {size}, {load}', size: $sizes, call: [bcast, scan], $sizes: [1 KiB, 2 KiB], pairs: [[a, b]]}");
  const std::vector<Words> lines = LinesOf(map, {{"load", "idle"}, {"call", "none"}}, {});
  std::vector<std::string> cases;
  for (const Words& line : lines) cases.push_back(TextOf(line, "case"));
  EXPECT_EQ(cases, (std::vector<std::string>{"bcast 1 KiB, idle", "scan 1 KiB, idle", "bcast 2 KiB, idle",
                                             "scan 2 KiB, idle"}));
  EXPECT_EQ(BytesOf(lines[3], "size"), 2048u);
  EXPECT_EQ(NumberOf(lines[0], "nodes", 7), 7);
  EXPECT_EQ(LinesOf(YAML::Load("{size: $none}"), {}, {YAML::Load("{$none: $more}"), YAML::Load("{$more: []}")}).size(),
            0u);
}

TEST(CasesTest, NoCaseIsThereTwice) {
  for (const bool quick : {false, true}) {
    const auto benchmarks = LoadBenchmarks(quick);
    ASSERT_TRUE(benchmarks.ok()) << benchmarks.status();
    std::set<std::string> labels;
    for (const Benchmark& benchmark : *benchmarks) {
      EXPECT_FALSE(benchmark.contests.empty()) << benchmark.name;
      for (const Contest& contest : benchmark.contests) {
        for (const Case& each : contest.cases) {
          const std::string label = LabelOf(each.row) + " " + std::to_string(each.row.bytes);
          EXPECT_TRUE(labels.insert(label).second) << label;
          EXPECT_EQ(each.row.what.find_first_of("{}$"), std::string::npos) << each.row.what;
        }
      }
    }
    EXPECT_TRUE(labels.contains("latency 2x1 allreduce 48 B, idle 48"));
  }
}

TEST(CasesTest, CallsBeyondARanksShareAreLeftOut) {
  constexpr uint64_t kMiB = 1 << 20;
  EXPECT_EQ(RankBytes("allgather", kMiB, 64), 64 * kMiB);
  EXPECT_EQ(RankBytes("reduce_scatterv", kMiB, 64), 64 * kMiB);
  EXPECT_EQ(RankBytes("gather", kMiB, 65), 65 * kMiB);
  EXPECT_EQ(RankBytes("alltoallv", kMiB, 64), 127 * kMiB);
  EXPECT_EQ(RankBytes("scan", kMiB, 1000), 2 * kMiB);
  EXPECT_EQ(RankBytes("barrier", 0, 2), 0u);
}

}  // namespace
}  // namespace copse::bench
