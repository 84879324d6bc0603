// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/candidates.h"
#include "planner/structure.h"
#include "schedule/testing/sample_plans.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

schedule::Plan MakePlan(const std::string& algorithm, uint32_t nodes, Collective collective, uint64_t bytes) {
  NodeOrder order(nodes);
  std::iota(order.begin(), order.end(), 0);
  return PlanOf(*BuildStructure(algorithm, order), collective, 0, bytes, bytes > 8192 ? 8192 : 0);
}

Observation Call(const std::string& algorithm, uint32_t nodes, Collective collective, uint64_t bytes) {
  Observation call;
  call.shape = schedule::BlockShape(nodes, 1);
  call.plan = MakePlan(algorithm, nodes, collective, bytes);
  call.arguments = {.collective = collective, .count = bytes};
  call.barrier = MakePlan(algorithm, nodes, Collective::kBarrier, 0);
  return call;
}

// Makes pings between two nodes, and one flat tree.
std::vector<Observation> Calls() {
  std::vector<Observation> calls;
  for (int c = 0; c < kCommonCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const uint64_t bytes : {uint64_t{48}, uint64_t{4096}, uint64_t{65536}}) {
      if (collective == Collective::kBarrier && bytes > 48) continue;
      calls.push_back(Call("flat", 2, collective, collective == Collective::kBarrier ? 0 : bytes));
    }
  }
  calls.push_back(Call("flat", 8, Collective::kBarrier, 0));
  calls.push_back(Call("flat", 8, Collective::kAllreduce, 48));
  calls.push_back(Call("flat", 8, Collective::kAllreduce, 4096));
  return calls;
}

std::vector<Observation> HeldOut() {
  std::vector<Observation> calls;
  for (const uint32_t nodes : {4u, 8u, 16u}) {
    for (const char* algorithm : {"binomial", "knomial-4", "kary-2"}) {
      for (const uint64_t bytes : {uint64_t{48}, uint64_t{4096}, uint64_t{65536}}) {
        calls.push_back(Call(algorithm, nodes, Collective::kAllreduce, bytes));
        calls.push_back(Call(algorithm, nodes, Collective::kBcast, bytes));
      }
    }
  }
  return calls;
}

ClusterCosts Start(uint32_t cores) {
  ClusterCosts costs;
  costs.nodes.cores = cores;
  if (cores > 0) costs.nodes.host = "here";
  return costs;
}

// Returns costs that differ from the start in every parameter that matters.
ClusterCosts Truth(uint32_t cores) {
  ClusterCosts costs = Start(cores);
  costs.parameters.wake_ns = 17'000;
  costs.parameters.takeover_ns = 6'000;
  costs.parameters.client_hop_ns = 2'500;
  costs.parameters.send_ps_per_byte = 500;
  costs.nodes.overhead_ns = 4'000;
  costs.nodes.receive_overhead_ns = 3'000;
  costs.nodes.bandwidth_bytes_per_s = 1'000'000'000;
  return costs;
}

// Returns the model's times with `costs`, off by up to `noise`.
std::vector<Observation> Measured(std::vector<Observation> calls, const ClusterCosts& costs, double noise,
                                  uint64_t seed) {
  Prng prng(seed);
  for (Observation& call : calls) call.measured_ns = *PredictNs(call, costs) * (1 + noise * (2 * prng.Unit() - 1));
  return calls;
}

double MedianError(const std::vector<Observation>& calls, const ClusterCosts& costs) {
  std::vector<double> errors;
  for (const Observation& call : calls) {
    errors.push_back(std::abs(*PredictNs(call, costs) - call.measured_ns) / call.measured_ns);
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2), errors.end());
  return errors[errors.size() / 2];
}

const FittedParameter& Find(const Calibration& calibration, const std::string& name) {
  for (const FittedParameter& one : calibration.parameters) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << name;
  static const FittedParameter none;
  return none;
}

TEST(PredictNsTest, CountsFromEachRanksOwnPost) {
  const ClusterCosts costs = Truth(0);
  Observation call = Call("flat", 8, Collective::kBarrier, 0);
  const double after_barrier = *PredictNs(call, costs);
  call.barrier.reset();
  const double together = *PredictNs(call, costs);
  EXPECT_GT(together, 0);
  EXPECT_NE(after_barrier, together);
}

class CalibrateTest : public ::testing::TestWithParam<uint32_t> {};  // cores
TEST_P(CalibrateTest, PredictsWhatItHasNotSeen) {
  const ClusterCosts truth = Truth(GetParam());
  const std::vector<Observation> held_out = Measured(HeldOut(), truth, 0, 1);
  const double before = MedianError(held_out, Start(GetParam()));
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const auto calibration = Calibrate(Measured(Calls(), truth, 0.05, seed), Start(GetParam())).value();
    EXPECT_LT(calibration.median_residual, 0.06) << seed;
    const double after = MedianError(held_out, calibration.costs);
    EXPECT_LT(after, 0.12) << seed;
    EXPECT_LT(after, before / 2) << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Cores, CalibrateTest, ::testing::Values(0, 2, 4));

TEST(CalibrateTest, IsDeterministic) {
  const std::vector<Observation> calls = Measured(Calls(), Truth(2), 0.05, 7);
  const auto a = Calibrate(calls, Start(2)), b = Calibrate(calls, Start(2));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->costs.parameters, b->costs.parameters);
  EXPECT_EQ(a->loss, b->loss);
}

TEST(CalibrateTest, StaysWhereItStartsIfThatIsRight) {
  const auto calibration = Calibrate(Measured(Calls(), Start(0), 0, 1), Start(0)).value();
  EXPECT_EQ(calibration.costs.parameters, CostParameters());
  EXPECT_LT(calibration.loss, 1e-6);
}

TEST(CalibrateTest, TellsWhatObservationsDoNotShow) {
  // One barrier of two nodes determines nothing about bytes, and of times only their sum.
  const std::vector<Observation> calls = Measured({Call("flat", 2, Collective::kBarrier, 0)}, Truth(0), 0, 1);
  const auto calibration = Calibrate(calls, Start(0)).value();
  EXPECT_LT(calibration.median_residual, 0.05);
  for (const char* name : {"alu_ps_per_byte", "copy_ps_per_byte", "takeover_ns"}) {
    const FittedParameter& one = Find(calibration, name);
    EXPECT_EQ(one.value, one.start) << name;
    EXPECT_FALSE(one.determined) << name;
    EXPECT_NEAR(one.doubt, 4, 0.01) << name;  // the prior's doubt
  }
  EXPECT_FALSE(Find(calibration, "overhead_ns").determined);
}

TEST(CalibrateTest, NamesParametersThatCannotBeToldApart) {
  // Without other costs, a packet takes the sum of its two overheads.
  ClusterCosts start = Start(0);
  start.parameters = {.wake_ns = 0,
                      .takeover_ns = 0,
                      .spin_ns = 0,
                      .client_hop_ns = 0,
                      .arm_ns = 0,
                      .send_ps_per_byte = 0,
                      .receive_ps_per_byte = 0,
                      .copy_ps_per_byte = 0,
                      .alu_ps_per_byte = 0};
  start.nodes.latency_ns = 1;
  Observation call = Call("flat", 2, Collective::kBarrier, 0);
  call.barrier.reset();
  const auto calibration = Calibrate(Measured({call}, start, 0, 1), start).value();
  EXPECT_EQ(calibration.parameters.size(), 4u);  // parameters that start at 0 are fixed
  const FittedParameter& sending = Find(calibration, "overhead_ns");
  EXPECT_THAT(sending.confused_with, ElementsAre("receive_overhead_ns"));
  EXPECT_GT(sending.doubt, 2);
  EXPECT_FALSE(sending.determined);
}

TEST(CalibrateTest, TriesSpins) {
  ClusterCosts truth = Truth(4);
  truth.parameters.spin_ns = 50'000;
  const auto calibration = Calibrate(Measured(Calls(), truth, 0.02, 3), Start(4), {0, 50'000}).value();
  EXPECT_EQ(calibration.costs.parameters.spin_ns, 50'000);
  EXPECT_LT(calibration.median_residual, 0.05);
}

TEST(CalibrateTest, OneWildMeasurementDoesNotDecide) {
  const ClusterCosts truth = Truth(2);
  std::vector<Observation> calls = Measured(Calls(), truth, 0.03, 5);
  calls[4].measured_ns *= 10;
  const auto calibration = Calibrate(calls, Start(2)).value();
  EXPECT_LT(MedianError(Measured(HeldOut(), truth, 0, 1), calibration.costs), 0.2);
}

struct Bad {
  const char* name;
  std::vector<double> measured_ns;
  std::vector<int64_t> spins_ns;
  const char* thing;
};
class BadCalibrationTest : public ::testing::TestWithParam<Bad> {};
TEST_P(BadCalibrationTest, IsRefused) {
  std::vector<Observation> calls;
  for (const double ns : GetParam().measured_ns) {
    calls.push_back(Call("flat", 2, Collective::kBarrier, 0));
    calls.back().measured_ns = ns;
  }
  const absl::Status refused = Calibrate(calls, Start(0), GetParam().spins_ns).status();
  EXPECT_THAT(refused, FailsWith(kInvalid, GetParam().thing));
}
INSTANTIATE_TEST_SUITE_P(Kinds, BadCalibrationTest,
                         ::testing::Values(Bad{"None", {}, {}, "count=0"}, Bad{"Zero", {0}, {}, "observation 0"},
                                           Bad{"Negative", {5, -3}, {}, "observation 1"},
                                           Bad{"Infinite", {std::numeric_limits<double>::infinity()}, {}, "ns=inf"},
                                           Bad{"Spin", {5}, {-1}, "spin_ns"}),
                         [](const auto& info) { return info.param.name; });

TEST(CalibrateTest, RefusesToFitNothing) {
  ClusterCosts start = Start(0);
  start.parameters.wake_ns = kCostParameterMax + 1;
  std::vector<Observation> calls = {Call("flat", 2, Collective::kBarrier, 0)};
  calls[0].measured_ns = 5;
  EXPECT_THAT(Calibrate(calls, start), FailsWith(kInvalid, "wake_ns", "value=1000000001", "limit=1000000000"));
  calls[0].plan.node_count = 3;
  EXPECT_THAT(Calibrate(calls, Start(0)), FailsWith(kInvalid, "nodes=3", "rows=2"));
}

}  // namespace
}  // namespace copse::planner
