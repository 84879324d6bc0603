// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/counter.h"

#include "gtest/gtest.h"

namespace copse::emu {
namespace {

TEST(CounterBlockTest, KnowsEachPairOfEdgeAndCounterApart) {
  constexpr uint32_t kCounters = 37;
  constexpr uint32_t kEdges = 5;
  CounterBlock block(kCounters, kEdges);
  for (uint32_t edge = 0; edge < kEdges; ++edge) {
    for (uint32_t i = 0; i < kCounters; ++i) {
      EXPECT_FALSE(block.Arrived(edge, i));
      EXPECT_TRUE(block.Arrive(edge, i));
      EXPECT_FALSE(block.Arrive(edge, i));
      EXPECT_TRUE(block.Arrived(edge, i));
    }
  }
  block.edge(2).hash_seen = true;
  block.ForgetEdge(2);
  EXPECT_FALSE(block.edge(2).hash_seen);
  for (uint32_t i = 0; i < kCounters; ++i) {
    EXPECT_TRUE(block.Arrived(1, i));
    EXPECT_FALSE(block.Arrived(2, i));
    EXPECT_TRUE(block.Arrived(3, i));
  }
  block.counter(7).success = 5;
  block.Clear();
  EXPECT_EQ(block.counter(7).success, 0u);
  EXPECT_FALSE(block.Arrived(3, 3));
}

TEST(CounterBlockTest, AnEdgeThatIsForgottenTakesItsEarlyArrivalsAlong) {
  CounterBlock block(2, 3);
  for (const uint32_t edge : {0, 1, 2, 1}) block.KeepEarly({.edge = edge});
  block.ForgetEdge(1);
  ASSERT_EQ(block.early().size(), 2u);
  EXPECT_EQ(block.early()[0].edge, 0u);
  EXPECT_EQ(block.early()[1].edge, 2u);
}

TEST(CounterBlockTest, APortWithoutEdgesHasCountersAllTheSame) {
  CounterBlock block(4, 0);
  block.counter(3).failure = 1;
  block.Clear();
  EXPECT_EQ(block.counter(3).failure, 0u);
}

}  // namespace
}  // namespace copse::emu
