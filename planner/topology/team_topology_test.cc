// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/team_topology.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/topology/generate.h"

namespace copse::topology {
namespace {

using testing::FailsWith;

// Three racks of four nodes; the third is slower. Nodes of equal numbers modulo 4 in racks 0 and 1 are alike.
Topology Racks() {
  std::vector<Switch> switches = {{"core", kNoParent, 0, 0}};
  std::vector<Node> nodes;
  for (uint32_t rack = 0; rack < 3; ++rack) {
    switches.push_back({absl::StrCat("r", rack), 0, rack == 2 ? 900 : 100, 1000});
    for (int n = 0; n < 4; ++n) {
      const bool shares = n < 2;
      nodes.push_back(MakeNode(absl::StrCat("n", rack, n), rack + 1,
                               {.cores = 4, .host = absl::StrCat("host", rack, shares ? 0 : n)}));
    }
  }
  return Topology::Create(switches, nodes).value();
}

TEST(TeamTopologyTest, TeamsThatAreConnectedAlikeHaveEqualOnes) {
  const Topology cluster = Racks();
  const Topology first = TeamTopology(cluster, {"n00", "n01", "n02"}).value();
  EXPECT_EQ(first, TeamTopology(cluster, {"n10", "n11", "n13"}).value());
  EXPECT_EQ(first, TeamTopology(cluster, {"n20", "n21", "n23"}).value()) << "no message leaves the rack";
  EXPECT_NE(first, TeamTopology(cluster, {"n00", "n02", "n03"}).value()) << "no host is shared";
  EXPECT_NE(first, TeamTopology(cluster, {"n00", "n02", "n01"}).value()) << "another order";
  EXPECT_NE(first, TeamTopology(cluster, {"n00", "n01", "n12"}).value());
  EXPECT_EQ(TeamTopology(cluster, {"n00", "n10"}).value(), TeamTopology(cluster, {"n02", "n13"}).value());
  EXPECT_NE(TeamTopology(cluster, {"n00", "n10"}).value(), TeamTopology(cluster, {"n00", "n20"}).value());
}

TEST(TeamTopologyTest, PathsAndCostsAreThoseOfTheCluster) {
  Prng prng(1);
  for (const std::string& kind : GeneratedKinds()) {
    const Topology cluster = GenerateTopology(kind, 40, 3).value();
    for (int round = 0; round < 20; ++round) {
      std::vector<uint32_t> places;
      for (uint32_t place = 0; place < cluster.nodes().size(); ++place) {
        if (prng.Below(3) == 0) places.push_back(place);
      }
      if (places.empty()) continue;
      std::rotate(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(prng.Below(places.size())),
                  places.end());
      std::vector<std::string> names;
      for (const uint32_t place : places) names.push_back(cluster.nodes()[place].name);
      const Topology team = TeamTopology(cluster, names).value();
      EXPECT_EQ(team.costs(), cluster.costs());
      ASSERT_EQ(team.nodes().size(), places.size());
      const std::vector<std::string> numbers = TeamTopologyNames(places.size());
      for (uint32_t a = 0; a < places.size(); ++a) {
        EXPECT_EQ(team.FindNode(numbers[a]), a);
        EXPECT_EQ(team.nodes()[a].overhead_ns, cluster.nodes()[places[a]].overhead_ns);
        EXPECT_EQ(team.nodes()[a].cores, cluster.nodes()[places[a]].cores);
        for (uint32_t b = 0; b < a; ++b) {
          const Path path = team.PathBetween(a, b), expected = cluster.PathBetween(places[a], places[b]);
          EXPECT_EQ(path.latency_ns, expected.latency_ns);
          EXPECT_EQ(path.bandwidth_bytes_per_s, expected.bandwidth_bytes_per_s);
        }
      }
    }
  }
}

TEST(TeamTopologyTest, RefusesNoNodesAndUnknownOnes) {
  EXPECT_THAT(TeamTopology(Racks(), {}), FailsWith(absl::StatusCode::kInvalidArgument, "nodes=0"));
  EXPECT_THAT(TeamTopology(Racks(), {"n00", "x"}), FailsWith(absl::StatusCode::kNotFound, "node x"));
}

}  // namespace
}  // namespace copse::topology
