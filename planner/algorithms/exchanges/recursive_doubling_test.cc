// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/recursive_doubling.h"

#include <vector>

#include "absl/status/status.h"
#include "collectives/collective.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/exchange_properties.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

TEST(BuildRecursiveDoublingTest, EverybodyGetsEachContributionOnce) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto steps = BuildRecursiveDoubling(order).value();
      const bool is_power = (n & (n - 1)) == 0;
      const uint32_t rounds = is_power ? CeilLog(2, n) : CeilLog(2, n) - 1 + 2;
      for (uint32_t v = 0; n > 1 && v < n; ++v) {
        ASSERT_FALSE(steps[v].empty());
        ASSERT_LE(steps[v].back().round, rounds);
      }
      ASSERT_EQ(VerifyExchange(steps, Collective::kAllreduce), absl::OkStatus()) << "n=" << n;
    }
  }
}

TEST(BuildRecursiveDoublingTest, FoldsOutTheEvenOnesOfTheFirst) {
  const auto steps = BuildRecursiveDoubling({0, 1, 2, 3, 4, 5}).value();
  const std::vector<schedule::ExchangeStep> folded = {{.round = 1, .send_to = 1},
                                                      {.round = 4, .receive_from = 1, .combine = false}};
  EXPECT_EQ(steps[0], folded);
  const std::vector<schedule::ExchangeStep> partner = {{.round = 1, .receive_from = 0},
                                                       {.round = 2, .send_to = 3, .receive_from = 3},
                                                       {.round = 3, .send_to = 4, .receive_from = 4},
                                                       {.round = 4, .send_to = 0}};
  EXPECT_EQ(steps[1], partner);
}

TEST(BuildRecursiveDoublingTest, RefusesBadOrders) {
  ExpectRefusesBadOrders("recursive-doubling", BuildRecursiveDoubling);
}

}  // namespace
}  // namespace copse::planner
