// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/topology_yaml.h"

#include <algorithm>
#include <ctime>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/topology/cost_parameters.h"

namespace copse::topology {
namespace {

using testing::FailsWith;
using ::testing::HasSubstr;
using testing::Names;

constexpr char kExample[] =
    "version: 1\n"
    "defaults: {overhead: 2us, latency: 1us, bandwidth: 10Gbit}\n"
    "switches:\n"
    "  - {name: core}\n"
    "  - {name: rack1, parent: core, latency: 1ms, bandwidth: 1Gbit}\n"
    "nodes:\n"
    "  - {name: \"n[1-4]\", switch: rack1, overhead: 5us, latency: 20us, bandwidth: 10Gbit}\n";

std::string ErrorOf(const std::string& text) {
  const auto topology = ParseTopologyYaml(text, "t.yaml");
  if (topology.ok()) return "";
  EXPECT_EQ(topology.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(topology.status().message());
}
// Returns the error for kExample with one text in it replaced.
std::string ErrorWith(const std::string& what, const std::string& by) {
  EXPECT_TRUE(absl::StrContains(kExample, what)) << what;
  return ErrorOf(absl::StrReplaceAll(kExample, {{what, by}}));
}

TEST(ParseTopologyYamlTest, ReadsTheDocumentedExample) {
  const auto topology = ParseTopologyYaml(kExample, "t.yaml").value();
  ASSERT_EQ(topology.switches().size(), 2u);
  EXPECT_EQ(topology.switches()[1], (Switch{"rack1", 0, 1'000'000, 125'000'000}));
  ASSERT_EQ(topology.nodes().size(), 4u);
  EXPECT_EQ(topology.nodes()[3].name, "n4");
  EXPECT_EQ(topology.nodes()[3].parent, 1u);
  EXPECT_EQ(topology.nodes()[3].overhead_ns, 5'000);
  EXPECT_EQ(topology.nodes()[3].latency_ns, 20'000);
  EXPECT_EQ(topology.nodes()[3].bandwidth_bytes_per_s, 1'250'000'000);
  EXPECT_EQ(topology.nodes()[3].cores, 0u);
}

TEST(ParseTopologyYamlTest, SkipsWhatOnlyTheTestNetworkReads) {
  const auto bare = ParseTopologyYaml(kExample, "t.yaml");
  const auto topology =
      ParseTopologyYaml(absl::StrCat(kExample, "fabric: {seed: 7, links: {rack1: {loss: 1%}}}\n"), "t.yaml").value();
  EXPECT_EQ(topology.switches(), bare->switches());
  EXPECT_EQ(topology.nodes(), bare->nodes());
}

TEST(ParseTopologyYamlTest, DefaultsFillWhatIsMissing) {
  const auto topology =
      ParseTopologyYaml(
          "version: 1\n"
          "nodes: [{name: a, switch: s2}, {name: 'b,c', switch: s2, host: h, cores: 4, receive_overhead: 9ns}]\n"
          "switches: [{name: s2, parent: s1}, {name: s1}]\n"
          "defaults: {overhead: 3ns, latency: 5ns, bandwidth: 7B/s, cores: 2, receive_overhead: 4ns}\n",
          "t.yaml")
          .value();
  EXPECT_EQ(topology.switches()[0], (Switch{"s2", 1, 5, 7}));
  EXPECT_EQ(topology.switches()[1], (Switch{"s1", kNoParent, 0, 0}));
  const Node& a = topology.nodes()[0];
  EXPECT_EQ(a.overhead_ns, 3);
  EXPECT_EQ(a.receive_overhead_ns, 4);
  EXPECT_EQ(a.latency_ns, 5);
  EXPECT_EQ(a.bandwidth_bytes_per_s, 7);
  EXPECT_EQ(a.cores, 2u);
  const Node& c = topology.nodes()[2];
  EXPECT_EQ(c.name, "c");
  EXPECT_EQ(c.host, "h");
  EXPECT_EQ(c.cores, 4u);
  EXPECT_EQ(c.receive_overhead_ns, 9);
}

TEST(ParseTopologyYamlTest, WithoutDefaultsTheFlatCostsHold) {
  const auto topology =
      ParseTopologyYaml("version: 1\nswitches: [{name: s}]\nnodes: [{name: a, switch: s}]\n", "t.yaml").value();
  EXPECT_EQ(topology.nodes()[0].overhead_ns, FlatCosts().overhead_ns);
  EXPECT_EQ(topology.nodes()[0].bandwidth_bytes_per_s, FlatCosts().bandwidth_bytes_per_s);
}

TEST(ParseTopologyYamlTest, ErrorsCarryFileAndLine) {
  EXPECT_THAT(ErrorWith("parent: core", "parent: cor"), Names("t.yaml:5", "switch rack1", "parent=cor"));
  EXPECT_THAT(ErrorWith("switch: rack1", "switch: rack2"), Names("t.yaml:7", "node n[1-4]", "switch=rack2"));
  EXPECT_THAT(ErrorWith("overhead: 2us", "overheat: 2us"),
              Names("t.yaml:2", "defaults", "key=overheat", "known=overhead"));
}

TEST(ParseTopologyYamlTest, RefusesTextThatIsNoTopology) {
  EXPECT_THAT(ErrorOf(""), Names("t.yaml:1", "topology", "documents=0", "expected=1"));
  EXPECT_THAT(ErrorOf("# nothing\n"), Names("topology", "t.yaml:1", "documents=0", "expected=1"));
  EXPECT_THAT(ErrorOf("~"), Names("topology", "t.yaml:1", "documents=1", "keys=0"));
  EXPECT_THAT(ErrorOf("--- {}\n--- {}\n"), Names("limit=1"));
  EXPECT_THAT(ErrorOf("[1, 2]"), Names("topology", "t.yaml:1"));
  EXPECT_THAT(ErrorOf("version: 1\nnodes: [\n"), Names("topology", "t.yaml:3"));
  EXPECT_THAT(ErrorOf("version: 1\n\tnodes: x\n"), Names("t.yaml:2", "topology"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '[')), Names("topology", "t.yaml:1"));
  EXPECT_THAT(ErrorOf("{version: 1}\n,\n"), Names("topology", "t.yaml:1", "limit=1"));
  EXPECT_THAT(ErrorOf("&a [*a]"), Names("topology", "t.yaml:1"));
  EXPECT_THAT(ErrorOf(std::string(kTopologyBytesMax + 1, ' ')), Names("bytes=67108865", "limit=67108864"));
}

TEST(ParseTopologyYamlTest, RefusesBadKeys) {
  EXPECT_THAT(ErrorOf(absl::StrCat(kExample, "racks: []\n")), Names("t.yaml:8", "topology", "key=racks"));
  EXPECT_THAT(ErrorOf(absl::StrCat(kExample, "version: 1\n")), Names("t.yaml:8", "topology", "key=version"));
  EXPECT_THAT(ErrorOf(absl::StrCat(kExample, "[a]: 1\n")), Names("t.yaml:8", "topology"));
  EXPECT_THAT(ErrorWith("parent: core", "up: core"), Names("t.yaml:5", "switch", "key=up"));
  EXPECT_THAT(ErrorWith("overhead: 5us", "speed: 5us"), Names("t.yaml:7", "node", "key=speed"));
  EXPECT_THAT(ErrorWith("{name: core}", "core"), Names("t.yaml:4", "switch"));
}

TEST(ParseTopologyYamlTest, RefusesBadVersions) {
  EXPECT_THAT(ErrorWith("version: 1\n", ""), Names("version", "expected=1"));
  EXPECT_THAT(ErrorWith("version: 1", "version: 2"), Names("t.yaml:1", "version", "version=2", "expected=1"));
  EXPECT_THAT(ErrorWith("version: 1", "version: one"), Names("version", "t.yaml:1", "version=one", "expected=1"));
  EXPECT_THAT(ErrorWith("version: 1", "version: [1]"), Names("version", "t.yaml:1"));
}

TEST(ParseTopologyYamlTest, RefusesMissingParts) {
  EXPECT_THAT(ErrorOf("version: 1\nnodes: []\n"), Names("switches", "t.yaml:1", "key=switches"));
  EXPECT_THAT(ErrorOf("version: 1\nswitches: {}\n"), Names("t.yaml:2", "switches"));
  EXPECT_THAT(ErrorOf("version: 1\nswitches: []\n"), Names("t.yaml:2", "switches", "count=0", "least=1"));
  EXPECT_THAT(ErrorOf("version: 1\nswitches: [{name: a}]\n"), Names("nodes", "t.yaml:1", "key=nodes"));
  EXPECT_THAT(ErrorOf("version: 1\nswitches: [{name: a}]\nnodes: 3\n"), Names("t.yaml:3", "nodes"));
  EXPECT_THAT(ErrorOf("version: 1\nswitches: [{name: a}]\nnodes: []\n"),
              Names("t.yaml:3", "nodes", "count=0", "least=1"));
  EXPECT_THAT(ErrorWith("{name: core}", "{latency: 1us}"), Names("t.yaml:4", "switch", "key=name"));
  EXPECT_THAT(ErrorWith("name: \"n[1-4]\", ", ""), Names("t.yaml:7", "node", "key=name"));
  EXPECT_THAT(ErrorWith("switch: rack1, ", ""), Names("t.yaml:7", "node n[1-4]", "key=switch"));
}

TEST(ParseTopologyYamlTest, RefusesBadNames) {
  EXPECT_THAT(ErrorWith("name: rack1", "name: 'rack 1'"), Names("t.yaml:5", "switch", "name=rack 1"));
  EXPECT_THAT(ErrorWith("name: rack1", "name: ''"), Names("t.yaml:5", "switch", "name", "length=0", "least=1"));
  EXPECT_THAT(ErrorWith("name: rack1", "name: " + std::string(256, 'x')), Names("length=256", "limit=255"));
  EXPECT_THAT(ErrorWith("name: rack1", "name: [x]"), Names("switch", "name", "t.yaml:5"));
  EXPECT_THAT(ErrorWith("n[1-4]", "n[1-"), Names("t.yaml:7", "node n[1-", "name=n[1-"));
  EXPECT_THAT(ErrorWith("n[1-4]", "n[4-1]"), Names("t.yaml:7", "name=n[4-1]"));
  EXPECT_THAT(ErrorWith("n[1-4]", "\\n"), Names("t.yaml:7", "node", "length=0", "least=1"));
  EXPECT_THAT(ErrorWith("n[1-4]", "a\\nb"), ::testing::Not(HasSubstr("\n")));
  EXPECT_THAT(ErrorWith("n[1-4]", std::string(200, 'x') + "[1-" + std::string(60, '1') + "]"),
              Names("length=260", "limit=255"));
}

TEST(ParseTopologyYamlTest, RefusesBadFigures) {
  EXPECT_THAT(ErrorWith("latency: 1ms", "latency: 0ms"),
              Names("t.yaml:5", "switch rack1", "latency", "value=0ms", "least=1ns"));
  EXPECT_THAT(ErrorWith("latency: 1ms", "latency: 0.1ns"), Names("value=0.1ns"));
  EXPECT_THAT(ErrorWith("latency: 1ms", "latency: -1ms"), Names("t.yaml:5", "switch rack1", "latency", "value=-1ms"));
  EXPECT_THAT(ErrorWith("latency: 1ms", "latency: 1001s"), Names("value=1001s", "limit=1000s"));
  EXPECT_THAT(ErrorWith("latency: 1ms", "latency: 1"), Names("latency", "t.yaml:5", "value=1"));
  EXPECT_THAT(ErrorWith("latency: 1ms", "latency: [1ms]"), Names("latency", "t.yaml:5"));
  EXPECT_THAT(ErrorWith("overhead: 5us", "overhead: 0us"),
              Names("t.yaml:7", "node n[1-4]", "overhead", "value=0us", "least=1ns"));
  EXPECT_THAT(ErrorWith("overhead: 5us", "receive_overhead: 0us"),
              Names("receive_overhead", "t.yaml:7", "value=0us", "least=1ns"));
  EXPECT_THAT(ErrorWith("bandwidth: 1Gbit", "bandwidth: 0Gbit"), Names("value=0Gbit"));
  EXPECT_THAT(ErrorWith("bandwidth: 1Gbit", "bandwidth: 1bit"), Names("value=1bit", "least=1B/s"));
  EXPECT_THAT(ErrorWith("bandwidth: 1Gbit", "bandwidth: 2000TB"),
              Names("t.yaml:5", "value=2000TB", "limit=1000000000000000B/s"));
  EXPECT_THAT(ErrorWith("bandwidth: 1Gbit", "bandwidth: fast"), Names("bandwidth", "t.yaml:5", "value=fast"));
  EXPECT_THAT(ErrorWith("overhead: 5us", "cores: 0"), Names("cores", "value=0", "limit=65536"));
  EXPECT_THAT(ErrorWith("overhead: 5us", "cores: 65537"), Names("cores", "value=65537"));
  EXPECT_THAT(ErrorWith("overhead: 5us", "host: 'a b'"), Names("host", "t.yaml:7", "name=a b"));
}

TEST(ParseTopologyYamlTest, RefusesWhatIsNoTree) {
  EXPECT_THAT(ErrorWith("{name: core}", "{name: core, parent: rack1}"), Names("t.yaml:4", "parent=rack1"));
  EXPECT_THAT(ErrorWith(", parent: core", ""), Names("t.yaml:5", "switch rack1", "roots=2", "limit=1"));
  EXPECT_THAT(ErrorOf(absl::StrReplaceAll(kExample, {{"rack1", "core"}})), Names("t.yaml:5", "switch core"));
  EXPECT_THAT(ErrorWith("n[1-4]", "n[1-4,2]"), Names("t.yaml:7", "node n2"));
}

TEST(ParseTopologyYamlTest, RefusesTooManyNodesAtOnce) {
  const std::clock_t start = std::clock();
  EXPECT_THAT(ErrorWith("n[1-4]", "n[1-10000000]"),
              Names("t.yaml:7", "node n[1-10000000]", "before=0", "limit=1048576"));
  EXPECT_THAT(ErrorWith("n[1-4]", "n[1-1000][1-1000][1-1000][1-1000][1-1000][1-1000][1-1000]"),
              Names("t.yaml:7", "before=0", "limit=1048576"));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1);
  const auto few = ParseTopologyYaml(kExample, "t.yaml", {.nodes_max = 3});
  EXPECT_THAT(few, FailsWith(absl::StatusCode::kInvalidArgument, "before=0", "limit=3"));
}

TEST(ParseTopologyYamlTest, ReadsAsManyNodesAsAllowed) {
  const auto topology =
      ParseTopologyYaml(absl::StrReplaceAll(kExample, {{"n[1-4]", "n[1-1048576]"}}), "t.yaml").value();
  EXPECT_EQ(topology.FindNode("n1048576"), 1048575u);
}

TEST(ParseTopologyYamlTest, ReadsCosts) {
  const std::string text = absl::StrCat(kExample, "costs: {takeover_ns: 17000, spin_ns: 0, alu_ps_per_byte: 7}\n");
  const auto topology = ParseTopologyYaml(text, "t.yaml").value();
  CostParameters expected;
  expected.takeover_ns = 17'000;
  expected.alu_ps_per_byte = 7;
  EXPECT_EQ(topology.costs(), expected);
  EXPECT_EQ(ParseTopologyYaml(kExample, "t.yaml")->costs(), CostParameters());
  const auto again = ParseTopologyYaml(FormatTopologyYaml(topology), "again.yaml").value();
  EXPECT_EQ(again.costs(), expected);
}

TEST(ParseTopologyYamlTest, RefusesBadCosts) {
  const auto with = [](const std::string& costs) { return ErrorOf(absl::StrCat(kExample, "costs: ", costs, "\n")); };
  EXPECT_THAT(with("{wake_ns: -1}"), Names("t.yaml:8", "costs", "wake_ns", "value=-1", "limit=1000000000"));
  EXPECT_THAT(with("{wake_ns: 5us}"), Names("value=5us"));
  EXPECT_THAT(with("{wake_ns: 1000000001}"), Names("limit=1000000000"));
  EXPECT_THAT(with("{wake: 1}"), Names("t.yaml:8", "costs", "key=wake", "known=wake_ns"));
  EXPECT_THAT(with("[1]"), Names("costs", "t.yaml:8"));
}

TEST(FormatTopologyYamlTest, RoundTrips) {
  const char* more =
      "  - {name: n5, switch: core, host: h, cores: 2, receive_overhead: 3us}\n"
      "  - {name: \"n[6-9]\", switch: core, host: h, cores: 2, receive_overhead: 3us}\n"
      "  - {name: \"null\", switch: core, bandwidth: 123456789B/s}\n";
  const auto topology = ParseTopologyYaml(absl::StrCat(kExample, more), "t.yaml").value();
  const std::string text = FormatTopologyYaml(topology);
  const auto again = ParseTopologyYaml(text, "t.yaml");
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
  EXPECT_EQ(again->switches(), topology.switches());
  EXPECT_EQ(again->nodes(), topology.nodes());
  EXPECT_EQ(FormatTopologyYaml(*again), text);
  EXPECT_THAT(text, HasSubstr("n[5-9]"));
}

TEST(FormatTopologyYamlTest, PeopleGetTheUnitsThatTheyWrite) {
  const char* cluster =
      "version: 1\nswitches: [{name: core}, {name: r1, parent: core, latency: 1ms, bandwidth: 1Gbit}]\n"
      "nodes: [{name: n1, switch: r1, overhead: 2500ns, latency: 999ns, bandwidth: 156250kB/s},\n"
      "        {name: n2, switch: r1, overhead: 1001us, latency: 2s, bandwidth: 123456789B/s}]\n";
  const auto topology = ParseTopologyYaml(cluster, "t.yaml").value();
  const std::string text = FormatTopologyYaml(topology, FigureUnits::kReadable);
  EXPECT_EQ(ParseTopologyYaml(text, "t.yaml").value(), topology) << text;
  EXPECT_THAT(text, HasSubstr("latency: 1ms, bandwidth: 1Gbit}"));
  EXPECT_THAT(text, HasSubstr("overhead: 2.5us, latency: 999ns, bandwidth: 1.25Gbit}"));
  EXPECT_THAT(text, HasSubstr("overhead: 1.001ms, latency: 2s, bandwidth: 987654.312kbit}"));
  EXPECT_THAT(text, ::testing::StartsWith("# "));
}

// Every random topology is represented by its file.
TEST(FormatTopologyYamlTest, RoundTripsRandomTopologies) {
  Prng prng(20240605);
  const auto figure = [&](int64_t limit) {
    int64_t value = 1;
    for (uint64_t digits = prng.Below(15); digits > 0; --digits) value = value * 10 + prng.Below(10);
    return std::min(value, limit);
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<Switch> switches;
    const uint64_t switch_count = 1 + prng.Below(8);
    for (uint64_t s = 0; s < switch_count; ++s) {
      Switch item{.name = absl::StrCat(prng.Chance(0.2) ? "0x" : "s.", s)};
      if (s > 0) {
        item.parent = static_cast<uint32_t>(prng.Below(s));
        item.latency_ns = figure(kTimeNsMax);
        item.bandwidth_bytes_per_s = figure(kBandwidthBytesPerSecondMax);
      }
      switches.push_back(item);
    }
    std::vector<Node> nodes;
    const uint64_t kinds = 1 + prng.Below(6);
    uint64_t number = prng.Below(12);
    for (uint64_t k = 0; k < kinds; ++k) {
      Node node{.parent = static_cast<uint32_t>(prng.Below(switch_count)),
                .overhead_ns = figure(kTimeNsMax),
                .receive_overhead_ns = prng.Chance(0.5) ? 0 : figure(kTimeNsMax),
                .latency_ns = figure(kTimeNsMax),
                .bandwidth_bytes_per_s = figure(kBandwidthBytesPerSecondMax),
                .cores = static_cast<uint32_t>(prng.Below(3) * 8),
                .host = prng.Chance(0.7) ? "" : absl::StrCat("host", k)};
      for (uint64_t n = 1 + prng.Below(5); n > 0; --n) {
        number += prng.Chance(0.8) ? 1 : 1 + prng.Below(100);
        node.name = absl::StrCat(prng.Chance(0.9) ? "n" : "true", number);
        nodes.push_back(node);
      }
    }
    CostParameters costs;
    if (prng.Chance(0.5)) costs.takeover_ns = figure(kCostParameterMax);
    const auto topology = Topology::Create(switches, nodes, costs).value();
    const std::string text = FormatTopologyYaml(topology);
    const auto again = ParseTopologyYaml(text, "t.yaml");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    ASSERT_EQ(*again, topology) << text;
    ASSERT_EQ(FormatTopologyYaml(*again), text);
    const std::string readable = FormatTopologyYaml(topology, FigureUnits::kReadable);
    ASSERT_EQ(ParseTopologyYaml(readable, "t.yaml").value(), topology) << readable;
    // Consecutive equal nodes share one entry.
    ASSERT_LE(std::count(text.begin(), text.end(), '\n'), static_cast<int>(switch_count + kinds + 4)) << text;
  }
}

}  // namespace
}  // namespace copse::topology
