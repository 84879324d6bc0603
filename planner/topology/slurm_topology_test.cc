// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/slurm_topology.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::topology {
namespace {
using testing::FailsWith;
using testing::Names;

constexpr char kConf[] = R"(# two racks
SwitchName=rack1 LinkSpeed=10 Nodes=n[1-2]
SwitchName=rack2 LinkSpeed=4 Nodes=n[3-4],login  # the second
SwitchName=core Switches=rack[1-2]
)";

// This is the same cluster as printed by `scontrol show topology`.
constexpr char kShown[] = R"(SwitchName=rack1 Level=0 LinkSpeed=10 Nodes=n[1-2]
SwitchName=rack2 Level=0 LinkSpeed=4 Nodes=login,n[3-4]
SwitchName=core Level=1 LinkSpeed=1 Nodes=login,n[1-4] Switches=rack[1-2]
)";

Topology Parsed(std::string_view text, const SlurmFigures& figures = {}) {
  return ParseSlurmTopology(text, "t.conf", figures).value();
}

std::string ErrorOf(std::string_view text, const SlurmFigures& figures = {}) {
  const auto topology = ParseSlurmTopology(text, "t.conf", figures, {.nodes_max = 1000});
  EXPECT_FALSE(topology.ok()) << text;
  EXPECT_EQ(topology.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(topology.status().message());
}

// Returns each node's switch, and each switch's parent, by name.
std::map<std::string, std::string> Parents(const Topology& topology) {
  std::map<std::string, std::string> parents;
  for (const Switch& item : topology.switches()) {
    parents[item.name] = item.parent == kNoParent ? "" : topology.switches()[item.parent].name;
  }
  for (const Node& item : topology.nodes()) parents[item.name] = topology.switches()[item.parent].name;
  return parents;
}

TEST(ParseSlurmTopologyTest, ReadsAConfiguration) {
  const Topology topology = Parsed(kConf);
  EXPECT_EQ(Parents(topology), (std::map<std::string, std::string>{{"core", ""},
                                                                   {"rack1", "core"},
                                                                   {"rack2", "core"},
                                                                   {"n1", "rack1"},
                                                                   {"n2", "rack1"},
                                                                   {"n3", "rack2"},
                                                                   {"n4", "rack2"},
                                                                   {"login", "rack2"}}));
  EXPECT_EQ(topology.switches()[0].bandwidth_bytes_per_s, 1'250'000'000);  // 10 Gbit/s
  EXPECT_EQ(topology.switches()[0].latency_ns, 1'000);
  EXPECT_EQ(topology.nodes()[0].bandwidth_bytes_per_s, 1'250'000'000);  // the rate of its switch
  EXPECT_EQ(topology.nodes()[2].bandwidth_bytes_per_s, 500'000'000);
  EXPECT_EQ(topology.nodes()[0].latency_ns, 500);
  EXPECT_EQ(topology.nodes()[0].overhead_ns, 2'000);
  EXPECT_EQ(topology.nodes()[0].cores, 0u);
}

TEST(ParseSlurmTopologyTest, ReadsWhatScontrolShows) {
  const Topology shown = Parsed(kShown);
  EXPECT_EQ(Parents(shown), Parents(Parsed(kConf)));
  EXPECT_EQ(shown.switches()[1].bandwidth_bytes_per_s, 500'000'000);
}

TEST(ParseSlurmTopologyTest, FiguresAreTheCallers) {
  SlurmFigures figures;
  figures.link_speed_bytes_per_s = 1'000;
  figures.node_bandwidth_bytes_per_s = 7;
  figures.latency_ns = {10, 20, 30};
  figures.overhead_ns = 5;
  const Topology topology = Parsed(
      "SwitchName=leaf LinkSpeed=3 Nodes=n1\nSwitchName=mid Switches=leaf\nSwitchName=high Switches=mid\n"
      "SwitchName=top Switches=high,other\nSwitchName=other Nodes=n2\n",
      figures);
  EXPECT_EQ(topology.switches()[0].bandwidth_bytes_per_s, 3'000);
  EXPECT_EQ(topology.nodes()[0].bandwidth_bytes_per_s, 7);
  EXPECT_EQ(topology.nodes()[0].latency_ns, 10);
  EXPECT_EQ(topology.nodes()[0].overhead_ns, 5);
  EXPECT_EQ(topology.switches()[0].latency_ns, 20);  // level 0
  EXPECT_EQ(topology.switches()[1].latency_ns, 30);  // level 1
  EXPECT_EQ(topology.switches()[2].latency_ns, 30);  // beyond the given levels
  EXPECT_EQ(topology.switches()[4].latency_ns, 20);  // level 0, although its link goes to the top
}

TEST(ParseSlurmTopologyTest, ReadsHostlistsAsSlurmWritesThem) {
  const Topology topology =
      Parsed("switchname=s NODES=\"rack[0-1]n[08-10],gpu-[1,3],login.example,10.0.0.7\" linkspeed=2\n");
  std::vector<std::string> names;
  for (const Node& node : topology.nodes()) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"rack0n08", "rack0n09", "rack0n10", "rack1n08", "rack1n09", "rack1n10",
                                             "gpu-1", "gpu-3", "login.example", "10.0.0.7"}));
}

TEST(ParseSlurmTopologyTest, ReadsLinesThatGoOnAndBlanksAndDosEnds) {
  const Topology topology =
      Parsed("\r\n  SwitchName=s1 \\\r\n   Nodes=n1 \r\n\tSwitchName=s2\tNodes=n2#x\r\nSwitchName=r Switches=s[1-2]\\");
  EXPECT_EQ(topology.nodes().size(), 2u);
  EXPECT_EQ(topology.switches()[topology.root_switch()].name, "r");
}

TEST(ParseSlurmTopologyTest, ReadsBlocks) {
  const char* conf = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4] LinkSpeed=2\nBlockSizes=2,4\n";
  const char* shown =
      "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\nBlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
      "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n";
  const std::map<std::string, std::string> parents = {{"core", ""}, {"b1", "core"}, {"b2", "core"}, {"n1", "b1"},
                                                      {"n2", "b1"}, {"n3", "b2"},   {"n4", "b2"}};
  EXPECT_EQ(Parents(Parsed(conf)), parents);
  EXPECT_EQ(Parents(Parsed(shown)), parents);
  SlurmFigures figures;
  figures.root = "spine";
  EXPECT_EQ(Parents(Parsed(conf, figures)).at("b1"), "spine");
}

TEST(ParseSlurmTopologyTest, ReadsYaml) {
  const char* tree =
      "---\n# newer\n- topology: other\n  flat: true\n- topology: main\n  cluster_default: true\n  tree:\n    "
      "switches:\n"
      "      - switch: core\n        children: rack[1-2]\n      - switch: rack1\n        nodes: n[1-2]\n"
      "      - {switch: rack2, nodes: \"n[3-4],login\"}\n";
  EXPECT_EQ(Parents(Parsed(tree)), Parents(Parsed(kConf)));
  const char* blocks =
      "- topology: b\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      - {block: b1, nodes: \"n[1-2]\"}\n";
  EXPECT_EQ(Parents(Parsed(blocks)),
            (std::map<std::string, std::string>{{"core", ""}, {"b1", "core"}, {"n1", "b1"}, {"n2", "b1"}}));
  EXPECT_FALSE(IsSlurmYaml("version: 1\n"));
  EXPECT_FALSE(IsSlurmYaml("# -\nSwitchName=a\n"));
  EXPECT_THAT(ErrorOf("- topology: t\n  flat: true\n"), Names("t.conf:1", "topology", "keys=tree"));
  EXPECT_THAT(ErrorOf("- topology: t\n  tree: {}\n"), Names("t.conf:2", "topology"));
  EXPECT_THAT(ErrorOf("- x\n"), Names("t.conf:1", "topology"));
  EXPECT_THAT(ErrorOf("- topology: t\n  tree:\n    switches:\n    - {switch: a, speed: 3}\n"),
              Names("t.conf:4", "switch", "key=speed"));
  EXPECT_THAT(ErrorOf("- topology: t\n  tree: {switches: [{nodes: n1}]}\n"), Names("t.conf:2", "switch", "key=switch"));
  EXPECT_THAT(ErrorOf("- topology: t\n  tree: {switches: [{switch: a, nodes: [n1]}]}\n"), Names("t.conf:2", "switch"));
  EXPECT_THAT(ErrorOf("- topology: [\n"), Names("topology", "t.conf:2"));
  EXPECT_THAT(
      ErrorOf(
          "- topology: t\n  tree:\n    switches:\n    - {switch: a, children: b}\n    - {switch: b, children: a}\n"),
      Names("t.conf:4", "switch a", "parent=b"));
}

TEST(ParseSlurmTopologyTest, SeveralRootsNeedAName) {
  const char* forest = "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n";
  EXPECT_THAT(ErrorOf(forest), Names("t.conf:2", "switch b", "roots=2", "limit=1"));
  SlurmFigures figures;
  figures.root = "wan";
  const Topology topology = Parsed(forest, figures);
  EXPECT_EQ(Parents(topology).at("b"), "wan");
  EXPECT_EQ(topology.switches()[1].latency_ns, 1'000);
  figures.root = "a";
  EXPECT_THAT(ErrorOf(forest, figures), Names("switch a", "t.conf:1"));
  // With an existing root the name is not needed.
  figures.root = "wan";
  EXPECT_EQ(Parsed(kConf, figures), Parsed(kConf));
}

TEST(ParseSlurmTopologyTest, RefusesWithLineThingAndLimit) {
  EXPECT_THAT(ErrorOf(""), Names("t.conf:1", "topology"));
  EXPECT_THAT(ErrorOf("\nSwitchName=a Nodes=n1 nonsense\n"), Names("t.conf:2", "KEY=VALUE", "text=nonsense"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=\n"), Names("t.conf:1", "Nodes"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=\"n1\n"), Names("t.conf:1", "Nodes"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1 nodes=n2\n"), Names("t.conf:1", "nodes"));
  EXPECT_THAT(ErrorOf("SwitchName=a Children=n1\n"), Names("t.conf:1", "switch a", "key=children", "known=SwitchName"));
  EXPECT_THAT(ErrorOf("Include other.conf\n"), Names("t.conf:1", "KEY=VALUE"));
  EXPECT_THAT(ErrorOf("Nodes=n1\n"), Names("t.conf:1", "key=nodes"));
  EXPECT_THAT(ErrorOf("SwitchName=a/b Nodes=n1\n"),
              Names("t.conf:1", "SwitchName", "name=a/b", "length=3", "limit=255"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1 LinkSpeed=0\n"),
              Names("t.conf:1", "switch a", "LinkSpeed", "value=0", "least=1"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1 LinkSpeed=-5\n"),
              Names("t.conf:1", "switch a", "LinkSpeed", "value=-5", "limit=4294967295"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1 LinkSpeed=4294967295\n"),
              Names("LinkSpeed", "t.conf:1", "value=4294967295"));
  EXPECT_THAT(ErrorOf("SwitchName=a Level=x Nodes=n1\n"), Names("level", "t.conf:1", "value=x"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n"), Names("t.conf:2", "BlockName"));
  EXPECT_THAT(ErrorOf("BlockName=b\n"), Names("t.conf:1", "block b", "key=Nodes"));
  EXPECT_THAT(ErrorOf("SwitchName=a\n"), Names("nodes", "t.conf:1", "count=0"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n[1-\n"), Names("switch a", "Nodes", "t.conf:1", "position 2"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n[3-1]\n"), Names("t.conf:1", "position 3"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n[000x133]\n"), Names("position 6"));
}

TEST(ParseSlurmTopologyTest, RefusesWhatIsNoTree) {
  EXPECT_THAT(ErrorOf("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), Names("t.conf:1", "switch a", "parent=b"));
  EXPECT_THAT(ErrorOf("SwitchName=r Nodes=n1\nSwitchName=a Switches=a\n"), Names("t.conf:2", "switch a", "parent=a"));
  // The error names the cycle, not the switches below it.
  EXPECT_THAT(ErrorOf("SwitchName=x Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a,x\n"),
              Names("t.conf:2", "switch a", "parent=b"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"),
              Names("t.conf:2", "switch a", "before=line 1"));
  EXPECT_THAT(ErrorOf("SwitchName=a Switches=b,c\n"), Names("t.conf:1", "switch a", "Switches", "switch=b"));
  EXPECT_THAT(ErrorOf("SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1\n"),
              Names("t.conf:2", "switch c", "parents=a b"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-2]\nSwitchName=r Switches=a,b\n"),
              Names("t.conf:2", "node n1", "switches=a b", "before=line 1"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n1,n1\n"), Names("t.conf:1", "node n1", "switches=a a", "before=line 1"));
}

TEST(ParseSlurmTopologyTest, RefusesTooManyNodesBeforeTheyAreMade) {
  const absl::Time begin = absl::Now();
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=n[1-10000000]\n"),
              Names("t.conf:1", "switch a", "Nodes", "list=n[1-10000000]", "limit=1000"));
  const auto at_default = ParseSlurmTopology("SwitchName=a Nodes=rack[1-100000]n[1-100]\n", "t.conf");
  EXPECT_THAT(at_default, FailsWith(absl::StatusCode::kInvalidArgument, "limit=1048576"));
  EXPECT_THAT(ErrorOf("SwitchName=a Switches=s[1-99999999999]\n"), Names("t.conf:1", "list=s[1-99999999999]"));
  EXPECT_THAT(ErrorOf("SwitchName=a Nodes=a[1-600]\nSwitchName=b Nodes=b[1-600]\nSwitchName=r Switches=a,b\n"),
              Names("t.conf:2", "nodes", "count=1200", "limit=1000"));
  // In this chain every switch names all nodes, so the work grows faster than the text.
  std::string tower = "SwitchName=s0 Nodes=n[1-1000]\n";
  for (int s = 1; s < 30; ++s) absl::StrAppend(&tower, "SwitchName=s", s, " Nodes=n[1-1000] Switches=s", s - 1, "\n");
  EXPECT_THAT(ErrorOf(tower), Names("nodes", "count=17000", "limit=16000"));
  std::string brackets = "SwitchName=a Nodes=n";
  for (int i = 0; i < 1'000'000; ++i) brackets += "[0]";
  EXPECT_THAT(ErrorOf(brackets), Names("t.conf:1", "position 194", "limit 64"));
  EXPECT_THAT(ErrorOf(std::string("SwitchName=a Nodes=") + std::string(300, 'a') + "[1-1000]"),
              Names("bytes 304", "limit 255"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
}

TEST(ParseSlurmTopologyTest, RefusesTowers) {
  std::string tower = "SwitchName=s0 Nodes=n1\n";
  for (uint32_t s = 1; s <= kDepthMax; ++s) absl::StrAppend(&tower, "SwitchName=s", s, " Switches=s", s - 1, "\n");
  EXPECT_THAT(ErrorOf(tower), Names("t.conf:1", "depth=65", "limit=64"));
}

TEST(FormatSlurmTopologyTest, RoundTrips) {
  for (const char* text : {kConf, kShown}) {
    const Topology topology = Parsed(text);
    const std::string formatted = FormatSlurmTopology(topology, 125'000'000);
    EXPECT_EQ(Parsed(formatted), topology) << formatted;
  }
  EXPECT_EQ(FormatSlurmTopology(Parsed(kConf), 125'000'000),
            "SwitchName=rack1 LinkSpeed=10 Nodes=n[1-2]\nSwitchName=rack2 LinkSpeed=4 Nodes=n[3-4],login\n"
            "SwitchName=core Switches=rack[1-2]\n");
}

TEST(FormatSlurmTopologyTest, ARootWithNodesSaysTheirRate) {
  const char* text = "SwitchName=s LinkSpeed=40 Nodes=n[1-2]\n";
  EXPECT_EQ(FormatSlurmTopology(Parsed(text), 125'000'000), text);
}

TEST(FormatSlurmTopologyTest, NodesBesideSwitchesGetALeaf) {
  const auto topology = ParseTopologyYaml(
                            "version: 1\nswitches: [{name: core}, {name: r1, parent: core, bandwidth: 3B/s}]\n"
                            "nodes: [{name: n1, switch: core}, {name: n2, switch: r1}]\n",
                            "t.yaml")
                            .value();
  // A rate far below the unit is not written as 0.
  const std::string text = FormatSlurmTopology(topology, 125'000'000);
  EXPECT_EQ(text,
            "SwitchName=core-nodes LinkSpeed=16 Nodes=n1\nSwitchName=core Switches=core-nodes,r1\n"
            "SwitchName=r1 LinkSpeed=1 Nodes=n2\n");
  EXPECT_EQ(Parents(Parsed(text)).at("n1"), "core-nodes");
  EXPECT_EQ(FormatSlurmTopology(Parsed(text), 125'000'000), text);
}

}  // namespace
}  // namespace copse::topology
