// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/fabric/fabric_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

constexpr char kCluster[] =
    "version: 1\n"
    "defaults: {latency: 20us, bandwidth: 1Gbit}\n"
    "switches:\n"
    "  - {name: core}\n"
    "  - {name: rack1, parent: core, latency: 1ms, bandwidth: 100Mbit}\n"
    "nodes:\n"
    "  - {name: \"n[1-4]\", switch: rack1, overhead: 5us}\n"
    "  - {name: far, switch: core}\n";

std::string ErrorOf(const std::string& section) {
  const absl::StatusOr<FabricFile> file = ParseFabricFile(absl::StrCat(kCluster, section), "f.yaml");
  EXPECT_FALSE(file.ok()) << section;
  return std::string(file.status().message());
}

TEST(FabricFileTest, WithoutASectionLinksAreTheTopologys) {
  const absl::StatusOr<FabricFile> file = ParseFabricFile(kCluster, "f.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->mtu, 1500u);
  EXPECT_TRUE(file->offload);
  EXPECT_EQ(file->switch_links[1], (LinkSettings{.latency_ns = 1'000'000, .bytes_per_s = 12'500'000}));
  EXPECT_EQ(file->node_links[0], (LinkSettings{.latency_ns = 20'000, .bytes_per_s = 125'000'000}));
}

TEST(FabricFileTest, TheSectionAddsToTheTopology) {
  const absl::StatusOr<FabricFile> file =
      ParseFabricFile(absl::StrCat(kCluster,
                                   "fabric:\n  seed: 7\n  mtu: 9000\n  offload: false\n"
                                   "  links:\n    rack1: {jitter: 20us, queue: 100p}\n"
                                   "    \"n[1-2]\": {loss: 1%, latency: 5us}\n"
                                   "  defaults: {queue: 64KiB}\n"),
                      "f.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->seed, 7u);
  EXPECT_EQ(file->mtu, 9000u);
  EXPECT_FALSE(file->offload);
  EXPECT_EQ(file->switch_links[1], (LinkSettings{.latency_ns = 1'000'000,
                                                 .bytes_per_s = 12'500'000,
                                                 .jitter_ns = 20'000,
                                                 .queue_bytes = 65'536,
                                                 .queue_packets = 100}));
  EXPECT_EQ(file->node_links[1],
            (LinkSettings{.latency_ns = 5'000, .bytes_per_s = 125'000'000, .loss = 0.01, .queue_bytes = 65'536}));
  EXPECT_EQ(file->node_links[2],
            (LinkSettings{.latency_ns = 20'000, .bytes_per_s = 125'000'000, .queue_bytes = 65'536}));
}

TEST(FabricFileTest, ErrorsNameFileLineValueAndLimit) {
  EXPECT_EQ(ErrorOf("fabric: 3\n"), "f.yaml:9: fabric: must be a map of keys and values");
  EXPECT_EQ(ErrorOf("fabric:\n  speed: 1\n"),
            "f.yaml:10: fabric: unknown key (key=speed, known=seed mtu offload defaults links)");
  EXPECT_EQ(ErrorOf("fabric: {seed: x}\n"), "f.yaml:9: fabric: seed: must be a number (value=x)");
  EXPECT_EQ(ErrorOf("fabric: {mtu: 100}\n"),
            "f.yaml:9: fabric: mtu: must be a number of bytes (value=100, limit=576..9000)");
  EXPECT_EQ(ErrorOf("fabric: {offload: 1}\n"), "f.yaml:9: fabric: offload: must be true or false (value=1)");
  EXPECT_EQ(ErrorOf("fabric: {offload: [1]}\n"), "f.yaml:9: fabric: offload: must be a single value");
  EXPECT_EQ(ErrorOf("fabric: {links: 1}\n"), "f.yaml:9: fabric: links: must be a map of names and settings");
  EXPECT_EQ(ErrorOf("fabric: {links: {\"n[\": {}}}\n").substr(0, 23), "f.yaml:9: fabric: links");
  EXPECT_EQ(ErrorOf("fabric: {links: {x: {}}}\n"), "f.yaml:9: fabric: links: no such switch or node (name=x)");
  EXPECT_EQ(ErrorOf("fabric: {links: {core: {}}}\n"),
            "f.yaml:9: fabric: links: the root switch has no link (name=core)");
  EXPECT_EQ(ErrorOf("fabric: {links: {n1: 1}}\n"), "f.yaml:9: fabric: links: n1: must be a map of keys and values");
  EXPECT_EQ(ErrorOf("fabric: {links: {n1: {loss: 2}}}\n"),
            "f.yaml:9: fabric: links: n1: loss: must be a probability, such as 0.01 or 1% (value=2, limit=1)");
  EXPECT_EQ(ErrorOf("fabric: {defaults: {queue: 0}}\n"),
            "f.yaml:9: fabric: defaults: queue: must be from 1 byte (value=0, limit=1GiB)");
  EXPECT_EQ(ErrorOf("colour: red\n").substr(0, 31), "f.yaml:9: topology: unknown key") << "the topology's own";
}

TEST(WireTest, SwitchesComeFirstThenTheNodesInTheirOrder) {
  const absl::StatusOr<FabricFile> file = ParseFabricFile(kCluster, "f.yaml");
  ASSERT_TRUE(file.ok());
  const absl::StatusOr<Wiring> wiring = Wire(*file, {"far", "n2"});
  ASSERT_TRUE(wiring.ok()) << wiring.status();
  EXPECT_EQ(wiring->names, (std::vector<std::string>{"core", "rack1", "far", "n2"}));
  EXPECT_EQ(wiring->vertices[0].parent, kNone);
  EXPECT_EQ(wiring->vertices[2].parent, 0u);
  EXPECT_EQ(wiring->vertices[3].parent, 1u);
  EXPECT_EQ(*wiring->FindLinks("rack1,n[2]"), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(wiring->FindLinks("n1").status().message(), "no such link (link=n1)");
  EXPECT_EQ(wiring->FindLinks("core").status().message(), "the root switch has no link (link=core)");
  EXPECT_EQ(wiring->FindLinks("").status().message(), "no link is named (count=0, least=1)");
  EXPECT_FALSE(wiring->FindLinks("n[").ok());
}

TEST(WireTest, WrongNodesAreNamed) {
  const absl::StatusOr<FabricFile> file = ParseFabricFile(kCluster, "f.yaml");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(Wire(*file, {"n9"}).status().message(), "node: not in the topology file (node=n9)");
  EXPECT_EQ(Wire(*file, {"n1", "n1"}).status().message(), "node: given twice, or also a switch (node=n1)");
  EXPECT_EQ(Wire(*file, {}).status().message(), "nodes: must be from 1 (count=0, limit=4096)");
}

}  // namespace
}  // namespace copse::fabric
