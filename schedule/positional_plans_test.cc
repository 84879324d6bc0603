// SPDX-License-Identifier: Apache-2.0
#include "schedule/positional_plans.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "schedule/testing/sample_plans.h"
#include "schedule/verify.h"

namespace copse::schedule {
namespace {

using copse::testing::IsOk;

std::vector<uint32_t> RandomOrder(uint32_t nodes, Prng* prng) {
  std::vector<uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  for (uint32_t i = nodes; i > 1; --i) std::swap(order[i - 1], order[prng->Below(i)]);
  return order;
}

TEST(PositionalPlansTest, AreVerifiedForAllSizes) {
  Prng prng(1);
  for (uint32_t nodes = 1; nodes <= 64; ++nodes) {
    const std::vector<uint32_t> order = RandomOrder(nodes, &prng);
    const std::vector<Plan> plans = MakePositionalPlans(order, TeamId(nodes));
    ASSERT_THAT(VerifyPlans(plans, BlockShape(nodes, 2)), IsOk()) << nodes;
    EXPECT_EQ(plans.front().root_node, NodeIndex(order[0]));
  }
}

TEST(PositionalPlansTest, IdsAreNoOthers) {
  std::set<PlanId> ids;
  size_t count = 0;
  for (const uint64_t team : {1'000'000u, 1'000'001u, 77'000'000u}) {
    for (const Plan& plan : MakePositionalPlans({0, 1}, TeamId(team))) {
      EXPECT_TRUE(IsPositional(plan));
      ids.insert(plan.id);
      ++count;
    }
  }
  EXPECT_EQ(ids.size(), count);
  EXPECT_FALSE(IsPositional(StarPlan(Collective::kBcast, 3)));
}

}  // namespace
}  // namespace copse::schedule
