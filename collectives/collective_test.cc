// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_arguments.h"

#include <set>

#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(CollectiveTest, NamesGoBothWays) {
  for (int c = 0; c < kCollectiveCount; ++c) {
    const auto collective = static_cast<Collective>(c);
    EXPECT_EQ(CollectiveFromName(CollectiveName(collective)), collective);
  }
  EXPECT_EQ(CollectiveFromName("alltoallw"), std::nullopt);
}

TEST(CollectiveTest, OnlyWhatACollectiveLooksAtCounts) {
  const CallArguments barrier{.collective = Collective::kBarrier};
  CallArguments other = barrier;
  other.count = 9;
  other.root = 3;
  EXPECT_TRUE(barrier == other);
  EXPECT_EQ(HashArguments(barrier), HashArguments(other));
  CallArguments bcast{.collective = Collective::kBcast, .type = ElementType::kInt32, .count = 4, .root = 1};
  other = bcast;
  other.op = ElementOp::kMax;
  EXPECT_TRUE(bcast == other);
  other.root = 2;
  EXPECT_FALSE(bcast == other);
}

TEST(CollectiveTest, HashTellsArgumentsApart) {
  std::set<uint16_t> hashes;
  int calls = 0;
  for (uint64_t count : {0u, 1u, 6u, 7u, 8u, 1024u}) {
    for (int t = 0; t < kElementTypeCount; ++t) {
      for (int o = 0; o < 6; ++o) {
        hashes.insert(HashArguments({.collective = Collective::kAllreduce,
                                     .type = static_cast<ElementType>(t),
                                     .op = static_cast<ElementOp>(o),
                                     .count = count}));
        ++calls;
      }
    }
  }
  // Among 720 values of 16 bits, 4 collisions are expected.
  EXPECT_GE(static_cast<int>(hashes.size()), calls - 12) << "16 bits collide now and then, not often";
}

TEST(CollectiveTest, ArgumentsInWords) {
  EXPECT_EQ(DescribeArguments({.collective = Collective::kBarrier}), "barrier");
  EXPECT_EQ(DescribeArguments({.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6}),
            "allreduce sum double count 6");
  EXPECT_EQ(DescribeArguments({.collective = Collective::kBcast, .type = ElementType::kInt32, .count = 4, .root = 2}),
            "bcast int32 count 4 root 2");
}

}  // namespace
}  // namespace copse
