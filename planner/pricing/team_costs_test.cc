// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/team_costs.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

topology::Node MakeNode(std::string name, uint32_t parent, std::string host, uint32_t cores) {
  topology::Node node;
  node.name = std::move(name);
  node.parent = parent;
  node.overhead_ns = 5;
  node.latency_ns = 1;
  node.bandwidth_bytes_per_s = 100;
  node.cores = cores;
  node.host = std::move(host);
  return node;
}

topology::Topology MakeTopology() {
  auto nodes = std::vector<topology::Node>{MakeNode("a", 1, "h", 2), MakeNode("b", 2, "", 4), MakeNode("c", 1, "h", 2),
                                           MakeNode("d", 0, "", 0)};
  nodes[3].receive_overhead_ns = 9;
  return *topology::Topology::Create(
      {{"core", topology::kNoParent, 0, 0}, {"r1", 0, 10, 50}, {"r2", 0, 20, 60}, {"unused", 0, 1, 1}}, nodes);
}

TEST(TeamCostsTest, MapsNodesHostsAndPaths) {
  const topology::Topology topology = MakeTopology();
  const auto costs = TeamCosts::Create({"d", "c", "b", "a"}, topology, {}).value();
  EXPECT_EQ(costs.node_count(), 4u);
  EXPECT_EQ(costs.NameOf(1), "c");
  EXPECT_EQ(costs.PlaceOf(1), 2u);
  EXPECT_EQ(costs.node(0).send_overhead_ns, 5);
  EXPECT_EQ(costs.node(0).receive_overhead_ns, 9);
  EXPECT_EQ(costs.node(1).receive_overhead_ns, 5);
  EXPECT_EQ(costs.host_count(), 3u);
  EXPECT_EQ(costs.node(1).host, costs.node(3).host);
  EXPECT_NE(costs.node(0).host, costs.node(2).host);
  EXPECT_EQ(costs.CoresOf(costs.node(0).host), 0u);
  EXPECT_EQ(costs.CoresOf(costs.node(1).host), 2u);
  EXPECT_EQ(costs.CoresOf(costs.node(2).host), 4u);
  EXPECT_EQ(costs.PathBetween(1, 2).latency_ns, 1 + 10 + 20 + 1);
  EXPECT_EQ(costs.switch_slot_count(), 3u);  // not `unused`
  EXPECT_LT(costs.SlotOfSwitch(2), 3u);
}

TEST(TeamCostsTest, HopsGoUpFromTheSenderAndDownToTheReceiver) {
  const topology::Topology topology = MakeTopology();
  const auto costs = TeamCosts::Create({"d", "c", "b", "a"}, topology, {}).value();
  std::vector<sim::Hop> there, back;
  costs.AppendHops(1, 2, &there);
  costs.AppendHops(2, 1, &back);
  ASSERT_EQ(there.size(), 4u);
  ASSERT_EQ(back.size(), 4u);
  EXPECT_EQ(there[0].direction, 2u);
  EXPECT_EQ(there[3].direction, 5u);
  int64_t latency_ns = 0;
  for (size_t i = 0; i < there.size(); ++i) {
    latency_ns += there[i].latency_ns;
    EXPECT_LT(there[i].direction, costs.direction_count());
    // The way back uses the same links in the other direction.
    EXPECT_EQ(there[i].direction ^ 1u, back[3 - i].direction);
    EXPECT_EQ(there[i].bandwidth_bytes_per_s, back[3 - i].bandwidth_bytes_per_s);
  }
  EXPECT_EQ(latency_ns, costs.PathBetween(1, 2).latency_ns);
}

TEST(TeamCostsTest, RefusesUnknownNodesAndEmptyTeams) {
  const topology::Topology topology = MakeTopology();
  const auto unknown = TeamCosts::Create({"a", "x"}, topology, {});
  EXPECT_THAT(unknown, FailsWith(absl::StatusCode::kNotFound, "node x", "nodes=4"));
  EXPECT_THAT(TeamCosts::Create({}, topology, {}), FailsWith(kInvalid, "team", "nodes=0", "least=1"));
}

TEST(TeamCostsTest, RefusesParametersOutOfRange) {
  const topology::Topology topology = MakeTopology();
  for (int64_t CostParameters::*field :
       {&CostParameters::wake_ns, &CostParameters::spin_ns, &CostParameters::client_hop_ns, &CostParameters::arm_ns,
        &CostParameters::send_ps_per_byte, &CostParameters::receive_ps_per_byte, &CostParameters::copy_ps_per_byte,
        &CostParameters::alu_ps_per_byte}) {
    for (const int64_t value : {int64_t{-1}, kCostParameterMax + 1}) {
      CostParameters parameters;
      parameters.*field = value;
      const auto costs = TeamCosts::Create({"a"}, topology, parameters);
      EXPECT_EQ(costs.status().code(), kInvalid);
      EXPECT_THAT(costs, FailsWith(kInvalid, absl::StrCat("value=", value), "limit=1000000000"));
    }
  }
}

TEST(StreamNsTest, IsTheMgoModelsTransfer) {
  EXPECT_EQ(StreamNs(0, 100), 0);
  EXPECT_EQ(StreamNs(1, 100), 0);
  EXPECT_EQ(StreamNs(1024, 320'725), 3'189'648);  // T_01 of the golden vector with 5 nodes
  EXPECT_EQ(StreamNs(65'536, 1), 65'535'000'000'000);
}

}  // namespace
}  // namespace copse::planner
