// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/fabric_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

using copse::testing::FailsWith;
using copse::testing::Names;

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
  EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << section;
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
  EXPECT_THAT(ErrorOf("fabric: 3\n"), Names("f.yaml:9: fabric: "));
  EXPECT_THAT(ErrorOf("fabric:\n  speed: 1\n"),
              Names("f.yaml:10: fabric: ", "key=speed", "known=seed mtu offload defaults links"));
  EXPECT_THAT(ErrorOf("fabric: {seed: x}\n"), Names("f.yaml:9: fabric: seed: ", "value=x"));
  EXPECT_THAT(ErrorOf("fabric: {mtu: 100}\n"), Names("f.yaml:9: fabric: mtu: ", "value=100", "limit=576..9000"));
  EXPECT_THAT(ErrorOf("fabric: {offload: 1}\n"), Names("f.yaml:9: fabric: offload: ", "value=1"));
  EXPECT_THAT(ErrorOf("fabric: {offload: [1]}\n"), Names("f.yaml:9: fabric: offload: "));
  EXPECT_THAT(ErrorOf("fabric: {links: 1}\n"), Names("f.yaml:9: fabric: links: "));
  EXPECT_THAT(ErrorOf("fabric: {links: {\"n[\": {}}}\n"), Names("f.yaml:9: fabric: links: "));
  EXPECT_THAT(ErrorOf("fabric: {links: {x: {}}}\n"), Names("f.yaml:9: fabric: links: ", "name=x"));
  EXPECT_THAT(ErrorOf("fabric: {links: {core: {}}}\n"), Names("f.yaml:9: fabric: links: ", "name=core"));
  EXPECT_THAT(ErrorOf("fabric: {links: {n1: 1}}\n"), Names("f.yaml:9: fabric: links: n1: "));
  EXPECT_THAT(ErrorOf("fabric: {links: {n1: {loss: 2}}}\n"),
              Names("f.yaml:9: fabric: links: n1: loss: ", "value=2", "limit=1"));
  EXPECT_THAT(ErrorOf("fabric: {defaults: {queue: 0}}\n"),
              Names("f.yaml:9: fabric: defaults: queue: ", "value=0", "limit=1GiB"));
  EXPECT_THAT(ErrorOf("color: red\n"), Names("f.yaml:9: topology: ", "color")) << "the topology's own";
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
  EXPECT_THAT(wiring->FindLinks("n1"), FailsWith(absl::StatusCode::kNotFound, "link=n1"));
  EXPECT_THAT(wiring->FindLinks("core"), FailsWith(absl::StatusCode::kInvalidArgument, "link=core"));
  EXPECT_THAT(wiring->FindLinks(""), FailsWith(absl::StatusCode::kInvalidArgument, "count=0", "least=1"));
  EXPECT_FALSE(wiring->FindLinks("n[").ok());
}

TEST(WireTest, WrongNodesAreNamed) {
  const absl::StatusOr<FabricFile> file = ParseFabricFile(kCluster, "f.yaml");
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(Wire(*file, {"n9"}), FailsWith(absl::StatusCode::kInvalidArgument, "node: ", "node=n9"));
  EXPECT_THAT(Wire(*file, {"n1", "n1"}), FailsWith(absl::StatusCode::kInvalidArgument, "node: ", "node=n1"));
  EXPECT_THAT(Wire(*file, {}), FailsWith(absl::StatusCode::kInvalidArgument, "nodes: ", "count=0", "limit=4096"));
}

}  // namespace
}  // namespace copse::fabric
