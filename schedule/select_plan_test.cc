// SPDX-License-Identifier: Apache-2.0
#include "schedule/select_plan.h"

#include <vector>

#include "gtest/gtest.h"

namespace copse::schedule {
namespace {

Plan PlanOfClass(uint64_t id, Collective collective, uint64_t bytes_min, uint64_t bytes_max) {
  return {.id = PlanId(id), .collective = collective, .bytes_min = bytes_min, .bytes_max = bytes_max};
}

CallArguments CallOf(Collective collective, uint64_t bytes, uint8_t options = 0) {
  return {.collective = collective, .type = ElementType::kUint8, .options = options, .count = bytes};
}

TEST(PlanBytesTest, IsOfTheMessage) {
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kBarrier, 0), 7), 0u);
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kBcast, 100), 7), 100u);
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kAllreduce, 1 << 20), 7), uint64_t{1} << 20);
}

TEST(PlanBytesTest, IsOfOneBlock) {
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kAllgather, 100), 7), 100u);
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kAllgather, 1 << 20), 7), 1u << 20);
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kAllgatherv, 705), 7), 100u) << "the mean";
  EXPECT_EQ(PlanBytesOf(CallOf(Collective::kReduceScatterv, 700), 7), 100u);
  for (const Collective unknown : {Collective::kGatherv, Collective::kScatterv, Collective::kAlltoallv}) {
    EXPECT_EQ(PlanBytesOf(CallOf(unknown, 0), 7), kCallBytesMax);
  }
}

TEST(PlanForTest, TakesTheClassOfTheCall) {
  const std::vector<Plan> plans = {
      PlanOfClass(1, Collective::kAllgather, 0, 1024),
      PlanOfClass(2, Collective::kAllgather, 1025, kMessageBytesMax),
      PlanOfClass(3, Collective::kScan, 0, kMessageBytesMax),
  };
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kAllgather, 1024), 4)->id, PlanId(1));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kAllgatherv, 4 * 1024), 4)->id, PlanId(1));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kAllgatherv, 4 * 1025), 4)->id, PlanId(2));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kAllgather, kCallBytesMax), 4)->id, PlanId(2));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kScan, 0), 4)->id, PlanId(3));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kAlltoall, 0), 4), nullptr);
}

TEST(PlanForTest, LongMessagesHaveAClassOrGoByTheLongest) {
  std::vector<Plan> plans = {PlanOfClass(1, Collective::kBcast, 0, kMessageBytesMax)};
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kBcast, kMessageBytesMax + 1), 4)->id, PlanId(1));
  plans.push_back(PlanOfClass(2, Collective::kBcast, kMessageBytesMax + 1, kCallBytesMax));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kBcast, kMessageBytesMax + 1), 4)->id, PlanId(2));
  EXPECT_EQ(PlanFor(plans, CallOf(Collective::kBcast, kMessageBytesMax), 4)->id, PlanId(1));
}

TEST(PlanForTest, WhatIsFoldedInOrderGoesByThePlanOfLongAlltoall) {
  const std::vector<Plan> plans = {
      PlanOfClass(1, Collective::kAlltoall, 0, 1024),
      PlanOfClass(2, Collective::kAlltoall, 1025, kMessageBytesMax),
  };
  CallArguments call = CallOf(Collective::kAllreduce, 8, kReproducible);
  call.type = ElementType::kFloat;
  EXPECT_EQ(PlanFor(plans, call, 4)->id, PlanId(2));
  call.op = ElementOp::kMax;  // max does not round
  EXPECT_EQ(PlanFor(plans, call, 4), nullptr);
}

}  // namespace
}  // namespace copse::schedule
