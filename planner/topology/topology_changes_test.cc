// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/topology_changes.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/topology/topology_yaml.h"

namespace copse::topology {
namespace {

Topology Parsed(const std::string& text) {
  return ParseTopologyYaml(absl::StrCat("version: 1\n", text), "t.yaml").value();
}

constexpr char kSwitches[] =
    "switches: [{name: core}, {name: r1, parent: core, latency: 1us, bandwidth: 1GB/s},"
    " {name: r2, parent: core, latency: 1us, bandwidth: 1GB/s}]\n";

Topology Base() {
  return Parsed(absl::StrCat(kSwitches, "nodes: [{name: \"n[1-4]\", switch: r1}, {name: \"n[5-8]\", switch: r2}]\n"));
}

// Formats changes as copsectl prints them.
std::vector<std::string> Lines(const std::vector<TopologyChange>& changes) {
  std::vector<std::string> lines;
  for (const TopologyChange& c : changes) {
    lines.push_back(absl::StrCat(c.kind, " ", c.thing, " ", c.names, "|", c.key, "|", c.before, "|", c.after));
  }
  return lines;
}

using Expected = std::vector<std::string>;

TEST(CompareTopologiesTest, EqualOnesDoNotDiffer) {
  const Topology base = Base();
  EXPECT_TRUE(CompareTopologies(&base, &base).empty());
  EXPECT_TRUE(CompareTopologies(nullptr, nullptr).empty());
  // A different order is no difference.
  const Topology turned =
      Parsed(absl::StrCat(kSwitches, "nodes: [{name: \"n[5-8]\", switch: r2}, {name: \"n[1-4]\", switch: r1}]\n"));
  EXPECT_TRUE(CompareTopologies(&base, &turned).empty());
}

TEST(CompareTopologiesTest, ChangesAreFoldedByWhatTheyAre) {
  const Topology base = Base();
  const Topology next =
      Parsed(absl::StrCat("costs: {wake_ns: 7}\n",
                          "switches: [{name: core}, {name: r1, parent: core, latency: 2us, bandwidth: 1GB/s},"
                          " {name: r3, parent: r1, latency: 1us, bandwidth: 1GB/s}]\n"
                          "nodes: [{name: \"n[1-3]\", switch: r1, cores: 4, latency: 1ms}, {name: n4, switch: r1},"
                          " {name: \"n[9-10]\", switch: r3}]\n"));
  EXPECT_EQ(Lines(CompareTopologies(&base, &next)),
            (Expected{"removed switch r2||parent: core, latency: 1000ns, bandwidth: 1000000000B/s|",
                      "added switch r3|||parent: r1, latency: 1000ns, bandwidth: 1000000000B/s",
                      "changed switch r1|latency|1000ns|2000ns",
                      "removed node n[5-8]||switch: r2, overhead: 2000ns, latency: 500ns, bandwidth: 2000000000B/s|",
                      "added node n[9-10]|||switch: r3, overhead: 2000ns, latency: 500ns, bandwidth: 2000000000B/s",
                      "changed node n[1-3]|latency|500ns|1000000ns", "changed node n[1-3]|cores|none|4",
                      "changed costs |wake_ns|5000|7"}));
  // The reverse comparison gives the same changes, reversed.
  const std::vector<std::string> back = Lines(CompareTopologies(&next, &base));
  EXPECT_EQ(back.size(), 8u);
  EXPECT_EQ(back[6], "changed node n[1-3]|cores|4|none");
}

TEST(CompareTopologiesTest, ARootThatIsHungElsewhereChangesOnce) {
  const Topology before = Parsed("switches: [{name: a}]\nnodes: [{name: n1, switch: a}]\n");
  const Topology after = Parsed(
      "switches: [{name: a, parent: b, latency: 1us, bandwidth: 1B/s}, {name: b}]\nnodes: [{name: n1, switch: a}]\n");
  EXPECT_EQ(Lines(CompareTopologies(&before, &after)),
            (Expected{"added switch b|||parent: none", "changed switch a|parent|none|b",
                      "changed switch a|latency|none|1000ns", "changed switch a|bandwidth|none|1B/s"}));
  EXPECT_EQ(Lines(CompareTopologies(&after, &before)),
            (Expected{"removed switch b||parent: none|", "changed switch a|parent|b|none",
                      "changed switch a|latency|1000ns|none", "changed switch a|bandwidth|1B/s|none"}));
}

TEST(CompareTopologiesTest, NothingBeforeOrAfter) {
  const Topology base = Base();
  EXPECT_EQ(Lines(CompareTopologies(nullptr, &base)).size(), 4u);
  EXPECT_EQ(CompareTopologies(nullptr, &base)[2].names, "n[1-4]");
  EXPECT_EQ(CompareTopologies(&base, nullptr)[2].kind, "removed");
}

TEST(ChangesBetweenTest, OnlyWhatIsBetweenTheNodesCounts) {
  const Topology base = Base();
  const Topology slow_r1 = Parsed(
      "switches: [{name: core}, {name: r1, parent: core, latency: 9us, bandwidth: 1GB/s},"
      " {name: r2, parent: core, latency: 1us, bandwidth: 1GB/s}]\n"
      "nodes: [{name: \"n[1-4]\", switch: r1}, {name: \"n[5-8]\", switch: r2}]\n");
  EXPECT_TRUE(ChangesBetween(base, slow_r1, {"n1", "n5"}));
  EXPECT_FALSE(ChangesBetween(base, slow_r1, {"n1", "n2"})) << "its link upwards is not between them";
  EXPECT_FALSE(ChangesBetween(base, slow_r1, {"n5", "n6", "n7"}));
  EXPECT_FALSE(ChangesBetween(base, slow_r1, {"n1"}));
  EXPECT_FALSE(ChangesBetween(base, slow_r1, {}));
  const Topology slow_n1 = Parsed(absl::StrCat(kSwitches,
                                               "nodes: [{name: n1, switch: r1, overhead: 1ms}, {name: \"n[2-4]\", "
                                               "switch: r1}, {name: \"n[5-8]\", switch: r2}]\n"));
  EXPECT_TRUE(ChangesBetween(base, slow_n1, {"n1", "n2"}));
  EXPECT_FALSE(ChangesBetween(base, slow_n1, {"n2", "n5"}));
  // The node is moved, with the same figures.
  const Topology moved =
      Parsed(absl::StrCat(kSwitches, "nodes: [{name: \"n[1-3]\", switch: r1}, {name: \"n[4-8]\", switch: r2}]\n"));
  EXPECT_TRUE(ChangesBetween(base, moved, {"n3", "n4"}));
  EXPECT_TRUE(ChangesBetween(base, moved, {"n4", "n5"}));
  EXPECT_FALSE(ChangesBetween(base, moved, {"n1", "n8"}));
  const Topology costs = Parsed(absl::StrCat(
      "costs: {wake_ns: 7}\n", kSwitches, "nodes: [{name: \"n[1-4]\", switch: r1}, {name: \"n[5-8]\", switch: r2}]\n"));
  EXPECT_TRUE(ChangesBetween(base, costs, {"n1", "n2"}));
}

}  // namespace
}  // namespace copse::topology
