// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/plan_cache.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "planner/topology/topology.h"

namespace copse::planner {
namespace {

SharedTask Task(size_t number) {
  topology::Topology topology =
      topology::Topology::Create({{.name = "core"}}, {topology::MakeNode("n", 0, {})}, {}).value();
  return std::make_shared<const PlanTask>(PlanTask{.shape = {.node_of_rank = {NodeIndex(0)}, .node_count = 1},
                                                   .options = {.algorithm = std::to_string(number)},
                                                   .topology = std::move(topology),
                                                   .plain = std::nullopt});
}

// Returns plans with so many neighbors in all, that differ by `number`.
std::vector<schedule::Plan> Plans(size_t number, size_t neighbors = 1) {
  std::vector<schedule::Plan> plans(1);
  plans[0].algorithm = std::to_string(number);
  plans[0].neighbors.resize(1);
  plans[0].neighbors[0].resize(neighbors);
  return plans;
}

TEST(PlanCacheTest, FindsWhatWasKeptOfAnEqualTask) {
  PlanCache cache;
  EXPECT_EQ(cache.Find(*Task(1)), nullptr);
  cache.Keep(Task(1), Plans(1));
  cache.Keep(Task(2), Plans(2));
  ASSERT_NE(cache.Find(*Task(1)), nullptr);
  EXPECT_EQ(*cache.Find(*Task(1)), Plans(1));
  EXPECT_EQ(cache.Find(*Task(3)), nullptr);
  cache.Clear();
  EXPECT_EQ(cache.Find(*Task(1)), nullptr);
}

TEST(PlanCacheTest, KeepsThoseThatWereUsedLast) {
  PlanCache cache;
  for (size_t i = 0; i < kKeptPlanSetsMax; ++i) cache.Keep(Task(i), Plans(i));
  ASSERT_NE(cache.Find(*Task(0)), nullptr);
  cache.Keep(Task(kKeptPlanSetsMax), Plans(kKeptPlanSetsMax));
  EXPECT_NE(cache.Find(*Task(0)), nullptr);
  EXPECT_EQ(cache.Find(*Task(1)), nullptr);
  EXPECT_NE(cache.Find(*Task(2)), nullptr);
}

TEST(PlanCacheTest, LimitsTheNeighborsOfAll) {
  PlanCache cache;
  cache.Keep(Task(1), Plans(1, kKeptNeighborsMax));
  EXPECT_NE(cache.Find(*Task(1)), nullptr);
  cache.Keep(Task(2), Plans(2, kKeptNeighborsMax + 1));
  EXPECT_EQ(cache.Find(*Task(2)), nullptr);
  EXPECT_NE(cache.Find(*Task(1)), nullptr) << "what is not kept displaces nothing";
  cache.Keep(Task(3), Plans(3));
  EXPECT_EQ(cache.Find(*Task(1)), nullptr);
  EXPECT_NE(cache.Find(*Task(3)), nullptr);
}

}  // namespace
}  // namespace copse::planner
