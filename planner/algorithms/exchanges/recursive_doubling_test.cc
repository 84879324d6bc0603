// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/recursive_doubling.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

// The test runs the rounds; a node's value counts how often it contains each contribution.
TEST(BuildRecursiveDoublingTest, EverybodyGetsEachContributionOnce) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto steps = BuildRecursiveDoubling(order).value();
      const bool is_power = (n & (n - 1)) == 0;
      const uint32_t rounds = is_power ? CeilLog(2, n) : CeilLog(2, n) - 1 + 2;
      std::vector<std::vector<int>> value(n, std::vector<int>(n, 0));
      std::vector<size_t> next(n, 0);
      for (uint32_t v = 0; v < n; ++v) value[v][v] = 1;
      std::set<std::pair<uint32_t, uint32_t>> used;
      for (uint16_t round = 1; round <= rounds; ++round) {
        std::map<std::pair<uint32_t, uint32_t>, std::vector<int>> sent;
        for (uint32_t v = 0; v < n; ++v) {
          if (next[v] == steps[v].size() || steps[v][next[v]].round != round) continue;
          const uint32_t to = steps[v][next[v]].send_to;
          if (to == schedule::kNobody) continue;
          ASSERT_TRUE(used.emplace(v, to).second) << "an edge carries one packet a call";
          sent[{v, to}] = value[v];
        }
        for (uint32_t v = 0; v < n; ++v) {
          if (next[v] == steps[v].size() || steps[v][next[v]].round != round) continue;
          const schedule::ExchangeStep& step = steps[v][next[v]++];
          if (step.receive_from == schedule::kNobody) continue;
          const auto packet = sent.find({step.receive_from, v});
          ASSERT_NE(packet, sent.end());
          for (uint32_t u = 0; u < n; ++u) value[v][u] = packet->second[u] + (step.combine ? value[v][u] : 0);
          sent.erase(packet);
        }
        ASSERT_TRUE(sent.empty()) << "everything sent is awaited";
      }
      for (uint32_t v = 0; v < n; ++v) {
        ASSERT_EQ(next[v], steps[v].size());
        ASSERT_EQ(value[v], std::vector<int>(n, 1)) << "n=" << n << " v=" << v;
      }
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
