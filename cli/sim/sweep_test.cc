// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/sweep.h"

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::simcli {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Makes a seed's cluster: the overhead of all nodes is `seed` microseconds.
absl::StatusOr<topology::Topology> Flat(uint32_t nodes, uint64_t seed) {
  std::vector<std::string> names;
  for (uint32_t v = 0; v < nodes; ++v) names.push_back(absl::StrCat("n", v));
  topology::FlatCosts costs;
  costs.overhead_ns = static_cast<int64_t>(seed) * 1000;
  return topology::FlatTopology(names, costs);
}

SweepRequest Request() {
  SweepRequest request;
  request.cluster = Flat;
  request.points = {{2, 1}, {5, 1}};
  request.seeds = {3, 1, 2};
  request.algorithms = {"FT", "BT"};
  return request;
}

TEST(SummarizeTest, TellsTheDistribution) {
  std::vector<int64_t> times;
  for (int64_t i = 20; i >= 1; --i) times.push_back(i * 10);
  const SweepCell cell = Summarize({4, 8}, "BT", times);
  EXPECT_EQ(cell.runs, 20u);
  EXPECT_DOUBLE_EQ(cell.mean_ns, 105);
  EXPECT_EQ(cell.least_ns, 10);
  EXPECT_EQ(cell.p10_ns, 20);
  EXPECT_EQ(cell.median_ns, 100);
  EXPECT_EQ(cell.p90_ns, 180);
  EXPECT_EQ(cell.most_ns, 200);
  EXPECT_NEAR(cell.deviation_ns, 59.16, 0.01);
  const SweepCell one = Summarize({4, 8}, "BT", {7});
  EXPECT_EQ(one.p10_ns, 7);
  EXPECT_EQ(one.p90_ns, 7);
  EXPECT_EQ(one.deviation_ns, 0);
}

TEST(SweepTest, ReplaysEveryPointSeedAndAlgorithm) {
  SweepRequest request = Request();
  uint64_t told = 0;
  request.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_EQ(done, ++told);
    EXPECT_EQ(all, 12u);
  };
  const auto cells = Sweep(request);
  ASSERT_TRUE(cells.ok()) << cells.status();
  ASSERT_EQ(cells->size(), 4u);
  EXPECT_EQ(told, 12u);
  // Two nodes exchange one message of 2 o + 1000 ns.
  EXPECT_EQ((*cells)[0].least_ns, 2'000 + 1'000);
  EXPECT_EQ((*cells)[0].median_ns, 4'000 + 1'000);
  EXPECT_EQ((*cells)[0].most_ns, 6'000 + 1'000);
  EXPECT_DOUBLE_EQ((*cells)[0].mean_ns, 5'000);
  // Among five nodes the flat tree's last message is the fourth.
  EXPECT_EQ((*cells)[2].algorithm, "FT");
  EXPECT_EQ((*cells)[2].point.nodes, 5u);
  EXPECT_EQ((*cells)[2].least_ns, 5 * 1'000 + 1'000);
}

TEST(SweepTest, RunningTakesWhatTheCostModelSays) {
  SweepRequest request = Request();
  request.collective = Collective::kBarrier;
  request.ranks_per_node = 2;
  request.algorithms = {"binomial", "dissemination", "best"};
  request.method = Method::kCosts;
  const auto priced = Sweep(request);
  request.method = Method::kRun;
  const auto run = Sweep(request);
  ASSERT_TRUE(priced.ok()) << priced.status();
  ASSERT_TRUE(run.ok()) << run.status();
  for (size_t i = 0; i < priced->size(); ++i) {
    EXPECT_GT((*run)[i].mean_ns, 0);
    EXPECT_NEAR((*run)[i].mean_ns / (*priced)[i].mean_ns, 1, 0.05) << (*run)[i].algorithm;
  }
}

TEST(SweepTest, RefusesWhatItCannotDo) {
  const auto error = [](const SweepRequest& request) { return Sweep(request).status(); };
  SweepRequest request = Request();
  request.collective = Collective::kBarrier;
  EXPECT_THAT(error(request), FailsWith(kInvalid, "collective=barrier", "ppn=1"));
  request = Request();
  request.algorithms = {"dance"};
  EXPECT_THAT(error(request), FailsWith(kInvalid, "name=dance"));
  request = Request();
  request.algorithms = {"dissemination"};
  EXPECT_THAT(error(request), FailsWith(kInvalid, "algorithm=dissemination"));
  request = Request();
  request.root = 2;
  EXPECT_THAT(error(request), FailsWith(kInvalid, "root=2", "ranks=2"));
  EXPECT_THAT(MethodOf("guess"), FailsWith(kInvalid, "value=guess", "known=replay costs run"));
}

}  // namespace
}  // namespace copse::simcli
