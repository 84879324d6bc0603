// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/switch_search.h"

#include <gtest/gtest.h>

#include <numeric>

#include "absl/status/status.h"
#include "base/prng.h"
#include "planner/measure/sampling.h"
#include "planner/measure/testing/random_tree.h"
#include "planner/measure/testing/same_tree.h"
#include "planner/measure/tree_fit.h"

namespace copse::measure {
namespace {

std::vector<std::string> Names(const topology::Topology& tree) {
  std::vector<std::string> names;
  for (const topology::Node& node : tree.nodes()) names.push_back(node.name);
  return names;
}

std::vector<NodePair> All(size_t count) {
  std::vector<uint32_t> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0);
  return AllPairs(nodes);
}

// Considers the random trees whose levels all exceed a hundredth of the paths across them.
TEST(FindTreeTest, ExactMeasurementsGiveTheTree) {
  int recovered = 0;
  ForRandomTrees(200, 3, [&](const topology::Topology& truth, Prng* prng) {
    const auto found = FindTree(Names(truth), Measure(truth, All(truth.nodes().size()), 0, 0, prng)).value();
    recovered += SameTree(found, truth);
  });
  EXPECT_GE(recovered, 198);  // others may have links of 100 us on paths of 10 ms and more
}

// Makes three sites of two racks of two nodes, one way 0.2, 1 and 10 ms.
topology::Topology Sites() {
  std::vector<topology::Switch> switches = {{.name = "wan"}};
  std::vector<topology::Node> nodes;
  for (uint32_t site = 0; site < 3; ++site) {
    const auto s = static_cast<uint32_t>(switches.size());
    switches.push_back({.name = "site" + std::to_string(site), .parent = 0, .latency_ns = 4'500'000});
    for (uint32_t rack = 0; rack < 2; ++rack) {
      const auto r = static_cast<uint32_t>(switches.size());
      switches.push_back(
          {.name = "rack" + std::to_string(site) + std::to_string(rack), .parent = s, .latency_ns = 400'000});
      for (int node = 0; node < 2; ++node) {
        nodes.push_back({.name = "n" + std::to_string(nodes.size()), .parent = r, .latency_ns = 100'000});
      }
    }
  }
  for (topology::Switch& s : switches) s.bandwidth_bytes_per_s = 125'000'000;
  for (topology::Node& n : nodes) n.overhead_ns = 1'000, n.bandwidth_bytes_per_s = 125'000'000;
  return *topology::Topology::Create(switches, nodes);
}

TEST(FindTreeTest, NoiseMakesNoLevelsAndHidesNone) {
  const topology::Topology truth = Sites();
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Prng prng(seed);
    const auto measured = Measure(truth, All(12), 40'000, 0, &prng);
    const auto found = FindTree(Names(truth), measured).value();
    EXPECT_TRUE(SameTree(found, truth)) << "seed " << seed;
    // The root is in the middle: it has the three sites, and fits.
    EXPECT_EQ(found.switches().size(), truth.switches().size()) << "seed " << seed;
    const auto fit = FitTree(found, measured).value();
    EXPECT_LT(fit.latency_error_ns, 30'000);
  }
}

// Makes four sites of three nodes, two of them on a link that takes `level_ns`: 10 ms between two sites.
topology::Topology CloserSites(int64_t level_ns) {
  std::vector<topology::Switch> switches = {
      {.name = "wan"}, {.name = "pair", .parent = 0, .latency_ns = level_ns, .bandwidth_bytes_per_s = 125'000'000}};
  std::vector<topology::Node> nodes;
  for (uint32_t site = 0; site < 4; ++site) {
    const auto s = static_cast<uint32_t>(switches.size());
    switches.push_back({.name = "site" + std::to_string(site),
                        .parent = site < 2 ? 1u : 0u,
                        .latency_ns = 4'900'000,
                        .bandwidth_bytes_per_s = 125'000'000});
    for (int node = 0; node < 3; ++node) {
      nodes.push_back({.name = "n" + std::to_string(nodes.size()),
                       .parent = s,
                       .overhead_ns = 1'000,
                       .latency_ns = 100'000,
                       .bandwidth_bytes_per_s = 125'000'000});
    }
  }
  return *topology::Topology::Create(switches, nodes);
}

TEST(FindTreeTest, SmallLevelsAreFoundWhereMeasurementsAgree) {
  const topology::Topology truth = CloserSites(300'000);  // 3 %
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Prng prng(seed);
    const auto found = FindTree(Names(truth), Measure(truth, All(12), 40'000, 0, &prng)).value();
    EXPECT_TRUE(SameTree(found, truth)) << "seed " << seed;
  }
}

TEST(FindTreeTest, SmallLevelsAreNoneWhereMeasurementsDoNotAgree) {
  const topology::Topology truth = CloserSites(1);
  int levels = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Prng prng(seed);
    std::vector<PairMeasurement> measured = Measure(truth, All(12), 0, 0, &prng);
    // Routes between two sites take up to 6 % more than the tree predicts, in every measurement.
    int64_t detour_ns[4][4];
    for (auto& row : detour_ns) {
      for (int64_t& detour : row) detour = static_cast<int64_t>(prng.Below(600'000));
    }
    for (PairMeasurement& m : measured) {
      if (m.latency_ns > 5'000'000) m.latency_ns += detour_ns[m.pair.a / 3][m.pair.b / 3];
    }
    const auto found = FindTree(Names(truth), measured).value();
    levels += found.switches().size() != 5;
  }
  EXPECT_LE(levels, 20);  // by chance a tree fits some of them
}

TEST(FindTreeTest, NodesOfOneSwitchStayOnOneSwitch) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) names.push_back("n" + std::to_string(i));
  const topology::Topology flat = *topology::FlatTopology(names, {.latency_ns = 10'000});
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Prng prng(seed);
    const auto found = FindTree(names, Measure(flat, All(10), 4'000, 0, &prng)).value();
    EXPECT_EQ(found.switches().size(), 1u) << "seed " << seed;
    EXPECT_EQ(found.switches()[0].name, "core");
  }
}

TEST(FindTreeTest, FewNodes) {
  EXPECT_EQ(FindTree({}, {}).status().code(), absl::StatusCode::kInvalidArgument);
  const auto one = FindTree({"a"}, {}).value();
  EXPECT_EQ(one.nodes()[0].name, "a");
  const auto two = FindTree({"a", "b"}, {{.pair = {0, 1}, .latency_ns = 6'000}}).value();
  EXPECT_EQ(two.PathBetween(0, 1).latency_ns, 6'000);
  const auto zero = FindTree({"a", "b", "c"}, {{.pair = {0, 1}}, {.pair = {0, 2}}, {.pair = {1, 2}}}).value();
  EXPECT_EQ(zero.switches().size(), 1u);
}

TEST(FindTreeTest, RefusesBadMeasurements) {
  const PairMeasurement ab = {.pair = {0, 1}, .latency_ns = 1}, ba = {.pair = {1, 0}, .latency_ns = 1};
  const auto code = [](absl::Span<const PairMeasurement> measurements) {
    return FindTree({"a", "b"}, measurements).status().code();
  };
  EXPECT_EQ(code({}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({ab, ba}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({ab, {.pair = {0, 2}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{.pair = {0, 1}, .latency_ns = -1}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({ab}), absl::StatusCode::kOk);
  EXPECT_EQ(FindTree(std::vector<std::string>(kSearchNodesMax + 1, "n"), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(AttachNodesTest, TheRestHangsWithItsNearestLandmark) {
  const topology::Topology truth = Sites();
  // Every second node represents its rack.
  std::vector<uint32_t> standing;
  std::vector<std::string> names, more;
  for (uint32_t n = 0; n < 12; n += 2) standing.push_back(n), names.push_back(Names(truth)[n]);
  for (uint32_t n = 1; n < 12; n += 2) more.push_back(Names(truth)[n]);
  std::vector<PairMeasurement> measured;
  for (const NodePair& pair : All(6)) {
    measured.push_back({.pair = pair, .latency_ns = truth.PathBetween(2 * pair.a, 2 * pair.b).latency_ns});
  }
  const auto found = FindTree(names, measured).value();
  const std::vector<uint32_t> landmarks = Landmarks(found);
  EXPECT_EQ(landmarks.size(), 3u);  // two nodes in two racks do not reveal the racks: one landmark per site
  std::vector<PairMeasurement> rest;
  for (uint32_t i = 0; i < 5; ++i) {
    for (const uint32_t landmark : landmarks) {
      rest.push_back({.pair = {i, landmark}, .latency_ns = truth.PathBetween(2 * i + 1, 2 * landmark).latency_ns});
    }
  }
  const auto attached = AttachNodes(found, more, rest).value();
  EXPECT_EQ(attached.nodes().size(), 11u);  // the last node has no measurement
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t site_of_even = attached.nodes()[*attached.FindNode(names[i])].parent;
    EXPECT_EQ(attached.nodes()[*attached.FindNode(more[i])].parent, site_of_even) << i;
  }
  EXPECT_EQ(AttachNodes(found, more, {{.pair = {0, 6}}}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SameTreeTest, TellsWhatDiffers) {
  const topology::Topology a = Sites();
  EXPECT_TRUE(SameTree(a, a));
  std::vector<topology::Node> nodes = a.nodes();
  std::swap(nodes[0].parent, nodes[4].parent);
  EXPECT_FALSE(SameTree(a, *topology::Topology::Create(a.switches(), nodes)));
  nodes = a.nodes();
  nodes[0].name = "other";
  EXPECT_FALSE(SameTree(a, *topology::Topology::Create(a.switches(), nodes)));
  EXPECT_FALSE(SameTree(a, *topology::FlatTopology(Names(a))));
}

}  // namespace
}  // namespace copse::measure
