// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/dissemination.h"

#include "absl/status/status.h"
#include "collectives/collective.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/exchange_properties.h"
#include "planner/algorithms/testing/tree_properties.h"

namespace copse::planner {
namespace {

TEST(BuildDisseminationTest, EverybodyHearsOfEverybody) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto steps = BuildDissemination(order).value();
      const uint32_t rounds = CeilLog(2, n);
      for (uint32_t v = 0; v < n; ++v) {
        ASSERT_EQ(steps[v].size(), rounds);
        for (uint32_t r = 0; r < rounds; ++r) ASSERT_EQ(steps[v][r].round, r + 1);
      }
      ASSERT_EQ(VerifyExchange(steps, Collective::kBarrier), absl::OkStatus());
    }
  }
}

TEST(BuildDisseminationTest, RefusesBadOrders) { ExpectRefusesBadOrders("dissemination", BuildDissemination); }

}  // namespace
}  // namespace copse::planner
