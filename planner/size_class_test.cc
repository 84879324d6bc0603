// SPDX-License-Identifier: Apache-2.0
#include "planner/size_class.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

TEST(TypicalBytesTest, IsTheGeometricMiddle) {
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {0, 0}), 0u);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {0, 1}), 1u);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {0, 120}), 10u);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {100, 400}), 200u);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {7, 7}), 7u);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {schedule::kMessageBytesMax, schedule::kMessageBytesMax}),
            schedule::kMessageBytesMax);
}

TEST(TypicalBytesTest, IsOfItsClass) {
  for (uint64_t least = 0; least < 300; ++least) {
    for (uint64_t most = least; most < 300; ++most) {
      const uint64_t typical = TypicalBytes(Collective::kBcast, {least, most});
      EXPECT_LE(least, typical);
      EXPECT_LE(typical, most);
    }
  }
}

TEST(TypicalBytesTest, OfTheLongestIsWhatBytesDecide) {
  EXPECT_EQ(TypicalBytes(Collective::kAllgather, {schedule::kMessageBytesMax + 1, schedule::kCallBytesMax}),
            256u * 1024);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {8193, schedule::kMessageBytesMax}), 23'171u);
  EXPECT_EQ(TypicalBytes(Collective::kAllgather, {8193, schedule::kMessageBytesMax}), schedule::kMessageBytesMax);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, kLongMessages), 256u * 1024);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, kLongestMessages), 1024u * 1024 + 1);
}

TEST(TypicalBytesTest, AnyClassThatAPlanMayHaveHasOne) {
  for (const Collective collective : {Collective::kBcast, Collective::kAlltoall}) {
    for (const SizeClass& c : {SizeClass{schedule::kMessageBytesMax, schedule::kCallBytesMax},
                               SizeClass{0, schedule::kCallBytesMax}, SizeClass{3, 3}}) {
      const uint64_t bytes = TypicalBytes(collective, c);
      EXPECT_LE(bytes, c.bytes_max);
      EXPECT_GE(bytes, std::min(c.bytes_min, kLongestMessages.bytes_min));
    }
  }
}

// A rule or a daemon may have classes of any bounds; simulating each segment of a call of 4 GiB takes gigabytes.
TEST(TypicalBytesTest, OfMessagesIsNeverLongerThanTheLongestClassNeeds) {
  EXPECT_EQ(TypicalBytes(Collective::kReduce, {uint64_t{1} << 32, schedule::kCallBytesMax}),
            kLongestMessages.bytes_min);
  EXPECT_EQ(TypicalBytes(Collective::kBcast, {1, schedule::kCallBytesMax}), kLongestMessages.bytes_min);
  EXPECT_EQ(TypicalBytes(Collective::kGather, {uint64_t{1} << 32, schedule::kCallBytesMax}), uint64_t{1} << 32);
}

TEST(BlockClassesTest, FollowOneAnotherToTheLongest) {
  for (const Collective collective : {Collective::kGather, Collective::kAllgather, Collective::kAlltoall}) {
    uint64_t next = 0;
    for (const SizeClass& c : BlockClasses(collective)) {
      EXPECT_EQ(c.bytes_min, next);
      EXPECT_EQ(BlockClassOf(collective, c.bytes_min), c);
      EXPECT_EQ(BlockClassOf(collective, c.bytes_max), c);
      next = c.bytes_max + 1;
    }
    EXPECT_EQ(next, schedule::kCallBytesMax + 1);
  }
}

TEST(TypicalCallTest, IsFromRankZero) {
  schedule::Plan plan;
  plan.collective = Collective::kReduce;
  plan.bytes_min = 100;
  plan.bytes_max = 400;
  const CallArguments call = TypicalCall(plan);
  EXPECT_EQ(call, TypicalCall(Collective::kReduce, {100, 400}));
  EXPECT_EQ(call.collective, Collective::kReduce);
  EXPECT_EQ(call.bytes(), 200u);
  EXPECT_EQ(call.root, 0u);
}

}  // namespace
}  // namespace copse::planner
