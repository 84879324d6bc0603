// SPDX-License-Identifier: Apache-2.0
#include "bench/targets.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace copse::bench {
namespace {

const std::vector<Target>& AllTargets() {
  static const auto& targets = *new std::vector<Target>(*LoadTargets());
  return targets;
}

Row RowOf(const Target& target) {
  Row row;
  row.bench = target.bench;
  row.what = target.what;
  row.system = "copse";
  row.peer = target.peer;
  row.nodes = target.nodes;
  row.ppn = target.ppn;
  row.metric = target.metric;
  return row;
}

TEST(TargetsTest, EachSaysWhatItIsAboutOnce) {
  std::set<std::tuple<std::string, std::string, uint32_t, uint32_t, std::string, std::string>> seen;
  for (const Target& target : AllTargets()) {
    EXPECT_GT(target.limit, 0) << target.what;
    EXPECT_FALSE(target.why.empty()) << target.what;
    EXPECT_EQ(target.metric == "ratio", !target.peer.empty()) << target.what;
    EXPECT_TRUE(seen.emplace(target.bench, target.what, target.nodes, target.ppn, target.metric, target.peer).second);
  }
}

TEST(TargetsTest, ARowGetsItsTargetAndNoOther) {
  for (const Target& target : AllTargets()) {
    Row row = RowOf(target);
    SetTarget(AllTargets(), &row);
    EXPECT_EQ(row.target, target.limit) << target.what;
    Row other = RowOf(target);
    other.nodes += 1;
    SetTarget(AllTargets(), &other);
    EXPECT_FALSE(other.target) << target.what;
    other = RowOf(target);
    other.system = "mpich";
    SetTarget(AllTargets(), &other);
    EXPECT_FALSE(other.target) << target.what;
    other = RowOf(target);
    other.what += ", loopback";
    SetTarget(AllTargets(), &other);
    EXPECT_FALSE(other.target) << target.what;
  }
}

TEST(TargetsTest, AnUnfinishedCellHasMissedItsTarget) {
  for (const Target& target : AllTargets()) {
    Row row = RowOf(target);
    row.metric = "unfinished";
    SetTarget(AllTargets(), &row);
    ASSERT_TRUE(row.target.has_value()) << target.what;
    EXPECT_FALSE(Met(row)) << target.what;
  }
}

}  // namespace
}  // namespace copse::bench
