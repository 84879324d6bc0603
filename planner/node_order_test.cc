// SPDX-License-Identifier: Apache-2.0
#include "planner/node_order.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;

TEST(OrderByTopologyTest, IsTheRootAndTheRestOnOneSwitch) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  const auto topology = topology::FlatTopology(names);
  const auto costs = TeamCosts::Create(names, *topology, {});
  EXPECT_THAT(OrderByTopology(*costs, 0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(OrderByTopology(*costs, 2), ElementsAre(2, 0, 1, 3));
}

TEST(OrderByTopologyTest, KeepsSwitchesTogetherNearestFirst) {
  // core - east - e1, e2;  core - west - w1, w2. Nodes are named by their switch.
  std::vector<topology::Switch> switches = {{"core", topology::kNoParent, 0, 0},
                                            {"east", 0, 1, 1},
                                            {"west", 0, 1, 1},
                                            {"e1", 1, 1, 1},
                                            {"e2", 1, 1, 1},
                                            {"w1", 2, 1, 1},
                                            {"w2", 2, 1, 1}};
  std::vector<topology::Node> nodes;
  std::vector<std::string> names;
  for (const char* name : {"w2-a", "e1-a", "w1-a", "e2-a", "w2-b", "e1-b", "w1-b", "e2-b", "core-a"}) {
    topology::Node node;
    node.name = name;
    node.overhead_ns = node.latency_ns = node.bandwidth_bytes_per_s = 1;
    for (uint32_t s = 0; s < switches.size(); ++s) {
      if (node.name.substr(0, node.name.find('-')) == switches[s].name) node.parent = s;
    }
    names.push_back(node.name);
    nodes.push_back(node);
  }
  const auto topology = topology::Topology::Create(switches, nodes).value();
  const auto costs = TeamCosts::Create(names, topology, {}).value();
  // From w1-b (6): its switch, then w2 under the same parent, then what joins at the core, in preorder.
  EXPECT_THAT(OrderByTopology(costs, 6), ElementsAre(6, 2, 0, 4, 8, 1, 5, 3, 7));
  EXPECT_THAT(OrderByTopology(costs, 8), ElementsAre(8, 1, 5, 3, 7, 2, 6, 0, 4));
}

}  // namespace
}  // namespace copse::planner
