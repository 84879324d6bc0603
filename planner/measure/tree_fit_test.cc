// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/tree_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "base/prng.h"
#include "planner/measure/sampling.h"
#include "planner/measure/testing/random_tree.h"

namespace copse::measure {
namespace {

// Returns the tree without figures, the knowledge of an administrator.
topology::Topology Bare(const topology::Topology& tree) {
  std::vector<topology::Switch> switches = tree.switches();
  std::vector<topology::Node> nodes = tree.nodes();
  for (topology::Switch& s : switches) s.latency_ns = 1'000, s.bandwidth_bytes_per_s = 1'000'000'000;
  for (topology::Node& n : nodes) n.latency_ns = 1'000, n.bandwidth_bytes_per_s = 1'000'000'000;
  return *topology::Topology::Create(switches, nodes);
}

std::vector<NodePair> Sampled(const topology::Topology& tree) {
  return SampleTree(tree, std::vector<bool>(tree.nodes().size(), true));
}

// Finds switches with one link up and one down: only the sum of their links is determined.
bool PassesOn(const topology::Topology& tree, uint32_t s) {
  uint32_t degree = s == tree.root_switch() ? 0 : 1;
  for (const topology::Switch& other : tree.switches()) degree += other.parent == s;
  for (const topology::Node& node : tree.nodes()) degree += node.parent == s;
  return degree < 3;
}

TEST(FitTreeTest, ExactMeasurementsGiveExactLatencies) {
  ForRandomTrees(200, 4, [&](const topology::Topology& truth, Prng* prng) {
    const auto fit = FitTree(Bare(truth), Measure(truth, Sampled(truth), 0, 0, prng)).value();
    for (uint32_t n = 0; n < truth.nodes().size(); ++n) {
      EXPECT_EQ(fit.nodes[n].latency_doubt, LatencyDoubt::kMeasured);
      EXPECT_NEAR(fit.nodes[n].latency_ns, truth.nodes()[n].latency_ns, 200) << "node " << n;
    }
    for (uint32_t s = 0; s < truth.switches().size(); ++s) {
      if (s == truth.root_switch()) continue;
      ASSERT_FALSE(PassesOn(truth, s));
      EXPECT_EQ(fit.switches[s].latency_doubt, LatencyDoubt::kMeasured);
      EXPECT_NEAR(fit.switches[s].latency_ns, truth.switches()[s].latency_ns, 500) << "switch " << s;
    }
    EXPECT_LE(fit.latency_error_ns, 200);
  });
}

TEST(FitTreeTest, NoisyMeasurementsStayWithinTheNoise) {
  constexpr int64_t kNoiseNs = 20'000;
  ForRandomTrees(100, 3, [&](const topology::Topology& truth, Prng* prng) {
    const auto fit = FitTree(Bare(truth), Measure(truth, Sampled(truth), kNoiseNs, 0.1, prng)).value();
    // A link is half a sum of three measurements, or a difference of two such.
    for (uint32_t n = 0; n < truth.nodes().size(); ++n) {
      EXPECT_NEAR(fit.nodes[n].latency_ns, truth.nodes()[n].latency_ns, 1.5 * kNoiseNs);
    }
    for (uint32_t s = 0; s < truth.switches().size(); ++s) {
      if (s == truth.root_switch()) continue;
      EXPECT_NEAR(fit.switches[s].latency_ns, truth.switches()[s].latency_ns, 3 * kNoiseNs);
    }
  });
}

// One pair in twenty is disturbed in every measurement: milliseconds too long.
TEST(FitTreeTest, SomeMeasurementsThatAreFarOffAreOutvoted) {
  constexpr int64_t kNoiseNs = 10'000;
  int links = 0, far_off = 0;
  ForRandomTrees(100, 3, [&](const topology::Topology& truth, Prng* prng) {
    std::vector<PairMeasurement> measured = Measure(truth, Sampled(truth), kNoiseNs, 0.1, prng);
    for (PairMeasurement& m : measured) m.latency_ns += prng->Chance(0.05) ? 2'000'000 : 0;
    const auto fit = FitTree(Bare(truth), measured).value();
    for (uint32_t n = 0; n < truth.nodes().size(); ++n) {
      ++links;
      far_off += std::abs(fit.nodes[n].latency_ns - truth.nodes()[n].latency_ns) > 60'000;
    }
    for (uint32_t s = 0; s < truth.switches().size(); ++s) {
      if (s == truth.root_switch()) continue;
      ++links;
      far_off += std::abs(fit.switches[s].latency_ns - truth.switches()[s].latency_ns) > 60'000;
    }
  });
  EXPECT_LT(far_off, links / 10) << "of " << links;
}

TEST(FitTreeTest, RatesOfBottlenecksAreFoundAndOthersAreLowerBounds) {
  ForRandomTrees(200, 3, [&](const topology::Topology& truth, Prng* prng) {
    const auto fit = FitTree(Bare(truth), Measure(truth, Sampled(truth), 0, 0.05, prng)).value();
    const auto check = [&](const LinkFit& link, int64_t rate) {
      EXPECT_NE(link.rate_doubt, RateDoubt::kUnmeasured);
      // A fitted rate never exceeds the truth; a bottleneck is not below it.
      EXPECT_LE(link.bandwidth_bytes_per_s, rate);
      if (link.rate_doubt == RateDoubt::kBottleneck) {
        EXPECT_GE(static_cast<double>(link.bandwidth_bytes_per_s), 0.94 * static_cast<double>(rate));
      }
    };
    for (uint32_t n = 0; n < truth.nodes().size(); ++n) check(fit.nodes[n], truth.nodes()[n].bandwidth_bytes_per_s);
    for (uint32_t s = 0; s < truth.switches().size(); ++s) {
      if (s != truth.root_switch()) check(fit.switches[s], truth.switches()[s].bandwidth_bytes_per_s);
    }
  });
}

// One pair was disturbed: if it is in doubt and measured once more, the result is that without the disturbance.
TEST(DoubtfulRatesTest, ADisturbedPairIsAmongThemWhereItMatters) {
  size_t pairs = 0, doubtful = 0;
  int wrong = 0, wrong_unasked = 0;
  ForRandomTrees(300, 3, [&](const topology::Topology& truth, Prng* prng) {
    const std::vector<PairMeasurement> clean = Measure(truth, Sampled(truth), 0, 0.05, prng);
    const auto fastest = [&](const std::vector<PairMeasurement>& measurements) {
      const TreeFit fit = *FitTree(Bare(truth), measurements);
      std::vector<int64_t> rates;
      for (const LinkFit& link : fit.nodes) rates.push_back(link.bandwidth_bytes_per_s);
      for (const LinkFit& link : fit.switches) rates.push_back(link.bandwidth_bytes_per_s);
      return rates;
    };
    const auto misses = [&](const std::vector<PairMeasurement>& measurements) {
      const std::vector<int64_t> is = fastest(measurements), wanted = fastest(clean);
      int missed = 0;
      for (size_t l = 0; l < is.size(); ++l) missed += 10 * is[l] < 8 * wanted[l];
      return missed;
    };
    std::vector<PairMeasurement> measured = clean;
    const size_t at = prng->Below(measured.size());
    measured[at].bandwidth_bytes_per_s =
        static_cast<int64_t>(static_cast<double>(measured[at].bandwidth_bytes_per_s) * (0.05 + 0.7 * prng->Unit()));
    wrong_unasked += misses(measured);
    const auto again = DoubtfulRates(truth, measured).value();
    pairs += measured.size();
    doubtful += again.size();
    if (std::find(again.begin(), again.end(), measured[at].pair) != again.end()) measured[at] = clean[at];
    wrong += misses(measured);
  });
  EXPECT_GT(wrong_unasked, 50);
  EXPECT_LE(wrong, wrong_unasked / 10) << "of " << wrong_unasked;
  EXPECT_LT(doubtful, pairs / 2) << "of " << pairs;
}

TEST(DoubtfulRatesTest, ThreeNodesHaveNoneUnlessOnePairIsFaster) {
  const topology::Topology tree = *topology::FlatTopology({"a", "b", "c"});
  const auto doubtful = [&](int64_t ab, int64_t ac, int64_t bc) {
    return *DoubtfulRates(tree, {{.pair = {0, 1}, .bandwidth_bytes_per_s = ab},
                                 {.pair = {0, 2}, .bandwidth_bytes_per_s = ac},
                                 {.pair = {1, 2}, .bandwidth_bytes_per_s = bc}});
  };
  EXPECT_TRUE(doubtful(100, 100, 100).empty());
  EXPECT_TRUE(doubtful(100, 95, 105).empty());
  EXPECT_TRUE(doubtful(0, 0, 0).empty());
  EXPECT_EQ(doubtful(100, 50, 50), (std::vector<NodePair>{{0, 1}})) << "alone";
  EXPECT_EQ(doubtful(50, 100, 100).size(), 3u) << "two tell alone, and nothing explains the third";
  EXPECT_EQ(doubtful(0, 0, 100), (std::vector<NodePair>{{1, 2}}));
  EXPECT_FALSE(DoubtfulRates(tree, {{.pair = {0, 3}}}).ok());
}

TEST(FitTreeTest, OfTwoLinksInARowOnlyTheSumIsKnown) {
  std::vector<topology::Switch> switches = {{.name = "core"}, {.name = "rack", .parent = 0, .latency_ns = 3'000}};
  std::vector<topology::Node> nodes = {{.name = "a", .parent = 0, .latency_ns = 1'000},
                                       {.name = "b", .parent = 0, .latency_ns = 1'000},
                                       {.name = "c", .parent = 1, .latency_ns = 1'000}};
  for (topology::Switch& s : switches) s.bandwidth_bytes_per_s = 1'000'000;
  for (topology::Node& n : nodes) n.overhead_ns = 1, n.bandwidth_bytes_per_s = 1'000'000;
  const topology::Topology tree = *topology::Topology::Create(switches, nodes);
  const auto fit = FitTree(tree, {{.pair = {0, 1}, .latency_ns = 20'000},
                                  {.pair = {0, 2}, .latency_ns = 50'000},
                                  {.pair = {1, 2}, .latency_ns = 50'000}})
                       .value();
  EXPECT_EQ(fit.nodes[0].latency_doubt, LatencyDoubt::kMeasured);
  EXPECT_NEAR(fit.nodes[0].latency_ns, 10'000, 10);
  EXPECT_EQ(fit.nodes[2].latency_doubt, LatencyDoubt::kShared);
  EXPECT_EQ(fit.switches[1].latency_doubt, LatencyDoubt::kShared);
  // The links share 3 to 1, the previous ratio.
  EXPECT_NEAR(fit.switches[1].latency_ns, 30'000, 10);
  EXPECT_NEAR(fit.nodes[2].latency_ns, 10'000, 10);
}

TEST(FitTreeTest, WhatIsNotMeasuredStaysAndSaysSo) {
  const topology::Topology tree = *topology::FlatTopology({"a", "b", "c"});
  const auto fit = FitTree(tree, {{.pair = {0, 1}, .latency_ns = 90'000, .bandwidth_bytes_per_s = 1'000'000}}).value();
  EXPECT_EQ(fit.nodes[0].latency_doubt, LatencyDoubt::kShared);
  EXPECT_EQ(fit.nodes[0].latency_ns, 45'000);
  EXPECT_EQ(fit.nodes[0].rate_doubt, RateDoubt::kTied);
  EXPECT_EQ(fit.nodes[2].latency_doubt, LatencyDoubt::kUnmeasured);
  EXPECT_EQ(fit.nodes[2].rate_doubt, RateDoubt::kUnmeasured);
  const auto applied = ApplyFit(tree, fit).value();
  EXPECT_EQ(applied.nodes()[0].latency_ns, 45'000);
  EXPECT_EQ(applied.nodes()[0].bandwidth_bytes_per_s, 1'000'000);
  EXPECT_EQ(applied.nodes()[2], tree.nodes()[2]);
}

TEST(FitTreeTest, ContradictionsShowAsError) {
  const topology::Topology tree = *topology::FlatTopology({"a", "b", "c"});
  // The distances violate the triangle inequality.
  const auto fit = FitTree(tree, {{.pair = {0, 1}, .latency_ns = 10'000},
                                  {.pair = {0, 2}, .latency_ns = 10'000},
                                  {.pair = {1, 2}, .latency_ns = 1'000'000}})
                       .value();
  EXPECT_GT(fit.latency_error_ns, 1'000);
  EXPECT_GT(fit.latency_error_ns_max, fit.latency_error_ns);
  for (const LinkFit& node : fit.nodes) EXPECT_GE(node.latency_ns, 0);
}

TEST(FitTreeTest, NothingMeasuredIsNoError) {
  const topology::Topology tree = *topology::FlatTopology({"a", "b"});
  const auto fit = FitTree(tree, {}).value();
  EXPECT_EQ(fit.nodes[0].latency_ns, tree.nodes()[0].latency_ns);
  EXPECT_EQ(fit.latency_error_ns, 0);
}

TEST(FitTreeTest, RefusesBadMeasurements) {
  const topology::Topology tree = *topology::FlatTopology({"a", "b"});
  for (const PairMeasurement& bad : {PairMeasurement{.pair = {0, 0}}, PairMeasurement{.pair = {0, 2}},
                                     PairMeasurement{.pair = {0, 1}, .latency_ns = -1},
                                     PairMeasurement{.pair = {0, 1}, .bandwidth_bytes_per_s = -1}}) {
    EXPECT_EQ(FitTree(tree, {bad}).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace copse::measure
