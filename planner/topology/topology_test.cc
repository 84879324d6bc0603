// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/topology.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::topology {
namespace {

using testing::FailsWith;
using testing::Names;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

//        core
//       /    \'
//    east    west       rack3 hangs under west
//    a b     c  rack3
//               d
std::vector<Switch> Switches() {
  return {{"core", kNoParent, 0, 0}, {"east", 0, 100, 1000}, {"west", 0, 200, 2000}, {"rack3", 2, 50, 4000}};
}
Node NodeOf(const std::string& name, uint32_t parent, int64_t latency_ns, int64_t bandwidth) {
  return MakeNode(name, parent, {.overhead_ns = 7, .latency_ns = latency_ns, .bandwidth_bytes_per_s = bandwidth});
}
std::vector<Node> Nodes() {
  return {NodeOf("a", 1, 1, 500), NodeOf("b", 1, 2, 9000), NodeOf("c", 2, 3, 9000), NodeOf("d", 3, 4, 3000)};
}

TEST(TopologyTest, PathIsSumOfLatenciesAndLeastBandwidth) {
  const auto topology = Topology::Create(Switches(), Nodes()).value();
  EXPECT_EQ(topology.PathBetween(0, 1).latency_ns, 1 + 2);
  EXPECT_EQ(topology.PathBetween(0, 1).bandwidth_bytes_per_s, 500);
  EXPECT_EQ(topology.PathBetween(1, 2).latency_ns, 2 + 100 + 200 + 3);
  EXPECT_EQ(topology.PathBetween(1, 2).bandwidth_bytes_per_s, 1000);
  EXPECT_EQ(topology.PathBetween(2, 3).latency_ns, 3 + 50 + 4);
  EXPECT_EQ(topology.PathBetween(2, 3).bandwidth_bytes_per_s, 3000);
  EXPECT_EQ(topology.PathBetween(3, 1).latency_ns, 4 + 50 + 200 + 100 + 2);
  EXPECT_EQ(topology.PathBetween(3, 1).bandwidth_bytes_per_s, 1000);
}

TEST(TopologyTest, KnowsDepthsPreorderAndNames) {
  const auto topology = Topology::Create(Switches(), Nodes()).value();
  EXPECT_EQ(topology.root_switch(), 0u);
  EXPECT_EQ(topology.DepthOf(3), 2u);
  EXPECT_EQ(topology.PreorderOf(0), 0u);
  EXPECT_EQ(topology.PreorderOf(1), 1u);
  EXPECT_EQ(topology.PreorderOf(2), 2u);
  EXPECT_EQ(topology.PreorderOf(3), 3u);
  EXPECT_EQ(topology.CommonSwitch(1, 3), 0u);
  EXPECT_EQ(topology.CommonSwitch(2, 3), 2u);
  EXPECT_EQ(topology.FindNode("c"), 2u);
  EXPECT_EQ(topology.FindNode("x"), std::nullopt);
}

TEST(TopologyTest, ParentsMayComeAfterTheirChildren) {
  std::vector<Switch> switches = {{"leaf", 1, 10, 10}, {"root", kNoParent, 0, 0}};
  const auto topology = Topology::Create(switches, {NodeOf("a", 0, 1, 1)}).value();
  EXPECT_EQ(topology.root_switch(), 1u);
  EXPECT_EQ(topology.DepthOf(0), 1u);
}

std::string DefectText(const std::vector<Switch>& switches, const std::vector<Node>& nodes) {
  const auto defect = Topology::FindDefect(switches, nodes);
  const auto topology = Topology::Create(switches, nodes);
  EXPECT_EQ(defect.has_value(), !topology.ok());
  if (!defect.has_value()) return "";
  EXPECT_EQ(topology.status().code(), kInvalid);
  EXPECT_EQ(topology.status().message(), defect->text);
  return defect->text;
}

// Returns the defect of switches (nodes) of which one is changed.
std::string SwitchDefect(size_t at, const std::function<void(Switch&)>& change) {
  std::vector<Switch> switches = Switches();
  change(switches[at]);
  return DefectText(switches, Nodes());
}
std::string NodeDefect(size_t at, const std::function<void(Node&)>& change) {
  std::vector<Node> nodes = Nodes();
  change(nodes[at]);
  return DefectText(Switches(), nodes);
}

TEST(TopologyTest, RefusesBadSwitches) {
  EXPECT_THAT(DefectText({}, Nodes()), Names("switches", "count=0", "least=1"));
  EXPECT_THAT(SwitchDefect(1, [](Switch& s) { s.name = ""; }), Names("switch", "index=1"));
  EXPECT_THAT(SwitchDefect(3, [](Switch& s) { s.name = "east"; }), Names("switch east"));
  EXPECT_THAT(SwitchDefect(2, [](Switch& s) { s.parent = kNoParent; }), Names("switch west", "roots=2"));
  EXPECT_THAT(SwitchDefect(2, [](Switch& s) { s.parent = 9; }), Names("switch west", "index=9"));
  EXPECT_THAT(SwitchDefect(2, [](Switch& s) { s.latency_ns = 0; }), Names("switch west", "value=0"));
  EXPECT_THAT(SwitchDefect(2, [](Switch& s) { s.latency_ns = kTimeNsMax + 1; }),
              Names("switch west", "value=1000000000001", "limit=1000000000000"));
  EXPECT_THAT(SwitchDefect(2, [](Switch& s) { s.bandwidth_bytes_per_s = -1; }), Names("switch west", "value=-1"));
}

TEST(TopologyTest, RefusesCycles) {
  EXPECT_THAT(SwitchDefect(2, [](Switch& s) { s.parent = 3; }), Names("parent=rack3"));
  EXPECT_THAT(SwitchDefect(1, [](Switch& s) { s.parent = 1; }), Names("switch east", "parent=east"));
  // There is no root at all.
  EXPECT_THAT(SwitchDefect(0, [](Switch& s) { s = {"core", 3, 1, 1}; }), Names("parent=rack3"));
}

TEST(TopologyTest, RefusesTowers) {
  for (const bool upwards : {false, true}) {
    std::vector<Switch> switches;
    for (uint32_t s = 0; s <= kDepthMax; ++s) {
      const uint32_t parent = upwards ? s + 1 : s - 1;
      const bool is_root = upwards ? s == kDepthMax : s == 0;
      switches.push_back({absl::StrCat("s", s), is_root ? kNoParent : parent, 1, 1});
    }
    EXPECT_THAT(DefectText(switches, Nodes()), Names("depth=65", "limit=64"));
    const uint32_t drop = upwards ? 0 : kDepthMax;
    switches.erase(switches.begin() + drop);
    if (upwards) {
      for (auto& item : switches) item.parent = item.parent == kNoParent ? kNoParent : item.parent - 1;
    }
    EXPECT_EQ(DefectText(switches, Nodes()), "");
  }
}

TEST(TopologyTest, RefusesTooMany) {
  std::vector<Switch> switches(kSwitchCountMax + 1);
  EXPECT_THAT(DefectText(switches, Nodes()), Names("switches", "count=1048577", "limit=1048576"));
  std::vector<Node> nodes(kNodeCountMax + 1);
  EXPECT_THAT(DefectText(Switches(), nodes), Names("nodes", "count=1048577", "limit=1048576"));
}

TEST(TopologyTest, RefusesBadNodes) {
  EXPECT_THAT(DefectText(Switches(), {}), Names("nodes", "count=0", "least=1"));
  EXPECT_THAT(NodeDefect(2, [](Node& n) { n.name = ""; }), Names("node", "index=2"));
  EXPECT_THAT(NodeDefect(2, [](Node& n) { n.name = "a"; }), Names("node a"));
  EXPECT_THAT(NodeDefect(2, [](Node& n) { n.parent = 4; }), Names("node c", "index=4"));
  EXPECT_THAT(NodeDefect(1, [](Node& n) { n.overhead_ns = 0; }), Names("node b", "value=0", "limit=1000000000000"));
  EXPECT_THAT(NodeDefect(1, [](Node& n) { n.receive_overhead_ns = -5; }), Names("node b", "value=-5"));
  EXPECT_THAT(NodeDefect(1, [](Node& n) { n.cores = kCoreCountMax + 1; }),
              Names("node b", "value=65537", "limit=65536"));
  EXPECT_THAT(NodeDefect(1, [](Node& n) { n.latency_ns = -1; }), Names("node b", "value=-1", "limit=1000000000000"));
  EXPECT_THAT(NodeDefect(1, [](Node& n) { n.bandwidth_bytes_per_s = kBandwidthBytesPerSecondMax + 1; }),
              Names("node b", "value=1000000000000001", "limit=1000000000000000"));
  auto nodes = Nodes();
  nodes[0].host = nodes[3].host = "h";
  nodes[0].cores = 2;
  EXPECT_THAT(DefectText(Switches(), nodes), Names("node d", "cores=0", "before=2"));
}

TEST(FlatTopologyTest, PutsAllNodesOnOneSwitch) {
  FlatCosts costs;
  costs.overhead_ns = 11;
  costs.latency_ns = 13;
  costs.bandwidth_bytes_per_s = 17;
  costs.cores = 2;
  costs.host = "box";
  const auto topology = FlatTopology({"x", "y", "z"}, costs).value();
  ASSERT_EQ(topology.switches().size(), 1u);
  EXPECT_EQ(topology.switches()[0].name, "core");
  EXPECT_EQ(topology.nodes()[2].name, "z");
  EXPECT_EQ(topology.nodes()[2].host, "box");
  EXPECT_EQ(topology.PathBetween(0, 2).latency_ns, 26);
  EXPECT_EQ(topology.PathBetween(0, 2).bandwidth_bytes_per_s, 17);
}

TEST(FlatTopologyTest, RefusesWhatCreateRefuses) {
  EXPECT_THAT(FlatTopology({}), FailsWith(kInvalid, "nodes", "count=0", "least=1"));
  EXPECT_THAT(FlatTopology({"a", "a"}), FailsWith(kInvalid, "name=a"));
  EXPECT_THAT(FlatTopology(std::vector<std::string>(kNodeCountMax + 1)), FailsWith(kInvalid, "count=1048577"));
}

}  // namespace
}  // namespace copse::topology
