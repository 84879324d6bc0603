// SPDX-License-Identifier: Apache-2.0
//
// Runs of plans at the size of large clusters.
#include <sys/resource.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cli/sim/cluster/plan_run.h"
#include "gtest/gtest.h"
#include "planner/candidates.h"
#include "planner/pricing/cost_model.h"
#include "planner/structure.h"
#include "planner/topology/generate.h"

namespace copse::sim {
namespace {

constexpr uint32_t kNodes = 100'000;
constexpr int64_t kBytesMax = int64_t{4} << 30;

TEST(PlanRunScaleTest, AHundredThousandNodesFit) {
  const auto topology = topology::GenerateTopology("racks", kNodes, 1);
  ASSERT_TRUE(topology.ok()) << topology.status();
  schedule::TeamShape shape{.node_of_rank = {}, .node_count = kNodes};
  std::vector<std::string> names;
  for (uint32_t v = 0; v < kNodes; ++v) {
    names.push_back(topology->nodes()[v].name);
    shape.node_of_rank.push_back(NodeIndex(v));
  }
  planner::CostParameters parameters;
  parameters.copy_ps_per_byte = 0;
  const auto costs = planner::TeamCosts::Create(names, *topology, parameters);
  ASSERT_TRUE(costs.ok()) << costs.status();
  planner::NodeOrder order(kNodes);
  std::iota(order.begin(), order.end(), 0);
  const CallArguments call = {.collective = Collective::kAllreduce, .type = ElementType::kUint64, .count = 6};
  const schedule::Plan plan =
      planner::PlanOf(*planner::BuildStructure("knomial-4", order), call.collective, 0, call.bytes(), 0);
  const auto run = RunPlan(plan, shape, *costs, call);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->packets, 2u * (kNodes - 1));
  const auto price = planner::Price(plan, shape, *costs, call, {.critical_path = false, .post_ns = {}});
  ASSERT_TRUE(price.ok()) << price.status();
  EXPECT_NEAR(static_cast<double>(run->total_ns) / static_cast<double>(price->total_ns), 1, 0.001);
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(int64_t{usage.ru_maxrss} * 1024, kBytesMax);
}

}  // namespace
}  // namespace copse::sim
