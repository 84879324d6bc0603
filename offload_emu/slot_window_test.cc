// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/slot_window.h"

#include "gtest/gtest.h"

namespace copse::emu {
namespace {

constexpr uint32_t kSlots = 4, kCounters = 3, kEdges = 2;

TEST(SlotWindowTest, CallsThatEndOutOfOrderLeaveTheWindowInOrder) {
  SlotWindow window(kSlots, kCounters, kEdges);
  EXPECT_FALSE(window.Finish(1));
  EXPECT_EQ(window.finished(), 0u);
  EXPECT_TRUE(window.Has(0));
  EXPECT_FALSE(window.Has(1));
  EXPECT_FALSE(window.Has(4));
  EXPECT_TRUE(window.Finish(0));
  EXPECT_EQ(window.finished(), 2u);
  EXPECT_FALSE(window.Has(0));
  EXPECT_TRUE(window.Has(5));
  EXPECT_EQ(window.CallOf(window.SlotOf(5)), 5u);
  EXPECT_EQ(window.CallOf(window.SlotOf(2)), 2u);
}

TEST(SlotWindowTest, ASequenceNumberNamesTheCallAlsoWhenItWraps) {
  SlotWindow window(kSlots, kCounters, kEdges);
  for (uint64_t call = 0; call < 0xffff; ++call) window.Finish(call);
  window.Finish(0x10001);
  uint64_t call = 0;
  EXPECT_TRUE(window.Find(0xffff, &call));
  EXPECT_EQ(call, 0xffffu);
  EXPECT_TRUE(window.Find(0, &call));
  EXPECT_EQ(call, 0x10000u);
  EXPECT_FALSE(window.Find(1, &call));       // it is over
  EXPECT_FALSE(window.Find(3, &call));       // behind the window
  EXPECT_FALSE(window.Find(0xfffe, &call));  // before it
}

TEST(SlotWindowTest, ASlotsCountersBeginAnewWithItsNextCall) {
  SlotWindow window(kSlots, kCounters, kEdges);
  window.counter(4).success = 7;  // slot 1
  window.Block(1).edge(1).hash_seen = true;
  window.slot(1).hash_expected = true;
  window.ForgetEdge(1);
  EXPECT_FALSE(window.Block(1).edge(1).hash_seen);
  EXPECT_EQ(window.Block(1).counter(1).success, 7u);
  const CounterBlock* const block = window.slot(1).block.get();
  window.Clear(1);
  EXPECT_EQ(window.slot(1).block, nullptr);
  EXPECT_FALSE(window.slot(1).hash_expected);
  EXPECT_EQ(window.counter(1).success, 0u);
  EXPECT_EQ(window.slot(0).block.get(), block);  // reused
}

}  // namespace
}  // namespace copse::emu
