// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/generate.h"

#include <set>

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::topology {
namespace {

using testing::FailsWith;

TEST(GenerateTopologyTest, TheSameSeedGivesTheSameClusterAndAnotherAnother) {
  for (const std::string& kind : GeneratedKinds()) {
    const auto a = GenerateTopology(kind, 100, 7), b = GenerateTopology(kind, 100, 7);
    const auto other = GenerateTopology(kind, 100, 8);
    ASSERT_TRUE(a.ok() && b.ok() && other.ok()) << kind << a.status();
    EXPECT_EQ(a->nodes(), b->nodes());
    EXPECT_EQ(a->switches(), b->switches());
    EXPECT_NE(a->nodes(), other->nodes());
  }
}

TEST(GenerateTopologyTest, EveryNodeIsThereOnceAtEverySize) {
  for (const std::string& kind : GeneratedKinds()) {
    for (const uint32_t nodes : {1u, 2u, 3u, 4u, 7u, 64u, 1000u}) {
      const auto topology = GenerateTopology(kind, nodes, 1);
      ASSERT_TRUE(topology.ok()) << kind << " " << nodes << ": " << topology.status();
      EXPECT_EQ(topology->nodes().size(), nodes);
      EXPECT_TRUE(topology->FindNode("n" + std::to_string(nodes)).has_value());
    }
  }
}

TEST(GenerateTopologyTest, NumbersDoNotSayWhereANodeIs) {
  const auto topology = GenerateTopology("racks", 64, 1).value();
  std::set<uint32_t> first;
  for (uint32_t v = 0; v < 8; ++v) first.insert(topology.nodes()[v].parent);
  EXPECT_GT(first.size(), 1u);
}

TEST(GenerateTopologyTest, FiguresAreInTheirRanges) {
  const auto mgo = GenerateTopology("mgo", 512, 3).value();
  for (const Node& node : mgo.nodes()) {
    EXPECT_GE(node.overhead_ns, 110'700'000);
    EXPECT_LE(node.overhead_ns, 286'000'000);
    EXPECT_GE(node.bandwidth_bytes_per_s, 302'000);  // 1 kB in 3.31 ms
    EXPECT_LE(node.bandwidth_bytes_per_s, 323'000);
  }
  EXPECT_THAT(mgo.switches().size(), ::testing::AllOf(::testing::Ge(1u + 2 + 9), ::testing::Le(1u + 4 + 10)));
  const auto wan = GenerateTopology("wan", 512, 3).value();
  EXPECT_EQ(wan.switches()[1].bandwidth_bytes_per_s, 1'250'000);
  EXPECT_GE(wan.switches()[1].latency_ns, 20'000'000);
}

TEST(GenerateTopologyTest, RefusesBadInput) {
  EXPECT_THAT(GenerateTopology("mgo", 0, 1), FailsWith(absl::StatusCode::kInvalidArgument, "nodes=0"));
  EXPECT_THAT(GenerateTopology("mgo", kNodeCountMax + 1, 1),
              FailsWith(absl::StatusCode::kInvalidArgument, "generate", "nodes=1048577", "limit=1048576"));
  EXPECT_THAT(GenerateTopology("ring", 5, 1), FailsWith(absl::StatusCode::kInvalidArgument, "name=ring", "known=mgo"));
}

}  // namespace
}  // namespace copse::topology
