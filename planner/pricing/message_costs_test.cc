// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/message_costs.h"

#include <vector>

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

// Nodes n0 and n1 are on rack 1, n2 is on the core; rack 2 has no node of the team.
topology::Topology Cluster() {
  std::vector<topology::Switch> switches = {{"core"}, {"rack1", 0, 1'000, 500'000'000}, {"rack2", 0, 7'000, 1}};
  std::vector<topology::Node> nodes = {
      {.name = "n2", .parent = 0, .overhead_ns = 40, .latency_ns = 300},
      {.name = "x", .parent = 2, .overhead_ns = 1, .latency_ns = 1},
      {.name = "n1", .parent = 1, .overhead_ns = 20, .latency_ns = 200},
      {.name = "n0", .parent = 1, .overhead_ns = 10, .receive_overhead_ns = 15, .latency_ns = 100}};
  for (topology::Node& node : nodes) node.bandwidth_bytes_per_s = 1'000'000'000;
  return topology::Topology::Create(switches, nodes).value();
}

CostParameters Parameters() {
  CostParameters parameters;
  parameters.wake_ns = 5'000;
  parameters.send_ps_per_byte = 1'000;
  parameters.receive_ps_per_byte = 2'000;
  parameters.alu_ps_per_byte = 3'000;
  return parameters;
}

TEST(MessageCostsTest, PathsAreTheTeamsOwn) {
  const topology::Topology topology = Cluster();
  const auto team = TeamCosts::Create({"n0", "n1", "n2"}, topology, Parameters()).value();
  const auto costs = MessageCosts(team, Collective::kBcast, 1001).value();
  EXPECT_EQ(costs.node_count(), 3u);
  EXPECT_EQ(costs.Latency(0, 1), 300);
  EXPECT_EQ(costs.Latency(0, 2), 1'400);
  EXPECT_EQ(costs.Stream(0, 1), 1'000);
  EXPECT_EQ(costs.Stream(0, 2), 2'000);
}

TEST(MessageCostsTest, AReduceIsABroadcastInReverse) {
  const topology::Topology topology = Cluster();
  const auto team = TeamCosts::Create({"n0", "n1", "n2"}, topology, Parameters());
  const auto bcast = MessageCosts(*team, Collective::kBcast, 1'000),
             reduce = MessageCosts(*team, Collective::kReduce, 1'000),
             both = MessageCosts(*team, Collective::kAllreduce, 1'000),
             barrier = MessageCosts(*team, Collective::kBarrier, 0);
  ASSERT_TRUE(bcast.ok() && reduce.ok() && both.ok() && barrier.ok());
  EXPECT_EQ(bcast->Send(0), 10 + 1'000);
  EXPECT_EQ(bcast->Receive(0), 15 + 2'000 + 5'000);
  EXPECT_EQ(reduce->Send(0), 15 + 2'000 + 3'000);
  EXPECT_EQ(reduce->Receive(0), 10 + 1'000 + 5'000);
  EXPECT_EQ(both->Send(1), 20 + (1'000 + 5'000) / 2);
  EXPECT_EQ(both->Receive(1), 20 + (1'000 + 2'000) / 2 + 5'000);
  EXPECT_EQ(barrier->Send(2), 40);
  EXPECT_EQ(barrier->Stream(0, 2), 0);
}

TEST(MessageCostsTest, RefusesWhatTakesTooLong) {
  std::vector<topology::Node> nodes = {
      {.name = "a", .overhead_ns = topology::kTimeNsMax, .latency_ns = 1, .bandwidth_bytes_per_s = 1}};
  const auto topology = topology::Topology::Create({{.name = "core"}}, nodes);
  const auto team = TeamCosts::Create({"a"}, *topology, Parameters());
  EXPECT_EQ(MessageCosts(*team, Collective::kBcast, 1'000).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace copse::planner
