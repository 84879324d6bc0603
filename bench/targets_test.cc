// SPDX-License-Identifier: Apache-2.0
#include "bench/targets.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace copse::bench {
namespace {

TEST(TargetsTest, EachIsOfOneRowAndSaysWhy) {
  const auto targets = LoadTargets();
  ASSERT_TRUE(targets.ok()) << targets.status();
  std::set<std::tuple<std::string, std::string, uint32_t, uint32_t, std::string, std::string>> seen;
  const auto limit_of = [&](Row row) {
    SetTarget(*targets, &row);
    return row.target;
  };
  for (const Target& target : *targets) {
    EXPECT_GE(target.limit, 0) << target.what;
    EXPECT_FALSE(target.why.empty()) << target.what;
    EXPECT_EQ(target.metric == "ratio", !target.peer.empty()) << target.what;
    EXPECT_TRUE(seen.emplace(target.bench, target.what, target.nodes, target.ppn, target.metric, target.peer).second);
    Row row = {.bench = target.bench,
               .what = target.what,
               .system = "copse",
               .peer = target.peer,
               .nodes = target.nodes,
               .ppn = target.ppn,
               .metric = target.metric};
    EXPECT_EQ(limit_of(row), target.limit) << target.what;
    Row other = row;
    other.nodes += 100;
    EXPECT_FALSE(limit_of(other)) << target.what;
    other = row;
    other.system = "mpich";
    EXPECT_FALSE(limit_of(other)) << target.what;
    other = row;
    other.what += ", loopback";
    EXPECT_FALSE(limit_of(other)) << target.what;
    // An unfinished cell has missed its target.
    row.metric = "unfinished";
    row.target = limit_of(row);
    EXPECT_TRUE(row.target.has_value()) << target.what;
    EXPECT_FALSE(Met(row)) << target.what;
  }
}

}  // namespace
}  // namespace copse::bench
