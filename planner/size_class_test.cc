// SPDX-License-Identifier: Apache-2.0
#include "planner/size_class.h"

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using schedule::Collective;

TEST(TypicalBytesTest, IsTheGeometricMiddle) {
  EXPECT_EQ(TypicalBytes({0, 0}), 0u);
  EXPECT_EQ(TypicalBytes({0, 1}), 1u);
  EXPECT_EQ(TypicalBytes({0, 120}), 10u);
  EXPECT_EQ(TypicalBytes({100, 400}), 200u);
  EXPECT_EQ(TypicalBytes({7, 7}), 7u);
  EXPECT_EQ(TypicalBytes({schedule::kMessageBytesMax, schedule::kMessageBytesMax}), schedule::kMessageBytesMax);
}

TEST(TypicalBytesTest, IsOfItsClass) {
  for (uint64_t least = 0; least < 300; ++least) {
    for (uint64_t most = least; most < 300; ++most) {
      const uint64_t typical = TypicalBytes({least, most});
      EXPECT_LE(least, typical);
      EXPECT_LE(typical, most);
    }
  }
}

TEST(TypicalCallTest, IsFromRankZero) {
  schedule::Plan plan;
  plan.collective = Collective::kReduce;
  plan.bytes_min = 100;
  plan.bytes_max = 400;
  const schedule::CallArguments call = TypicalCall(plan);
  EXPECT_EQ(call, TypicalCall(Collective::kReduce, {100, 400}));
  EXPECT_EQ(call.collective, Collective::kReduce);
  EXPECT_EQ(call.bytes(), 200u);
  EXPECT_EQ(call.root, 0u);
}

}  // namespace
}  // namespace copse::planner
