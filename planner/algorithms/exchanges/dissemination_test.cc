// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/dissemination.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

TEST(BuildDisseminationTest, EverybodyHearsOfEverybody) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto steps = BuildDissemination(order).value();
      const uint32_t rounds = CeilLog(2, n);
      std::vector<uint64_t> heard(n);
      for (uint32_t v = 0; v < n; ++v) {
        ASSERT_EQ(steps[v].size(), rounds);
        heard[v] = uint64_t{1} << v;
      }
      std::set<std::pair<uint32_t, uint32_t>> used;
      for (uint32_t r = 0; r < rounds; ++r) {
        std::vector<uint64_t> next = heard;
        for (uint32_t v = 0; v < n; ++v) {
          const schedule::ExchangeStep& step = steps[v][r];
          ASSERT_EQ(step.round, r + 1);
          ASSERT_EQ(steps[step.send_to][r].receive_from, v);
          ASSERT_TRUE(used.emplace(v, step.send_to).second) << "an edge carries one packet a call";
          next[step.send_to] |= heard[v];
        }
        heard = next;
      }
      const uint64_t all = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
      for (uint32_t v = 0; v < n; ++v) ASSERT_EQ(heard[v], all);
    }
  }
}

TEST(BuildDisseminationTest, RefusesBadOrders) { ExpectRefusesBadOrders("dissemination", BuildDissemination); }

}  // namespace
}  // namespace copse::planner
