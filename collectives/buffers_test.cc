// SPDX-License-Identifier: Apache-2.0
#include "collectives/call_arguments.h"

#include "gtest/gtest.h"

namespace copse {
namespace {

constexpr uint32_t kSize = 5;

uint32_t Count(BufferKind (*of)(Collective, uint32_t, uint32_t), Collective collective, uint32_t root,
               BufferKind kind) {
  uint32_t count = 0;
  for (uint32_t rank = 0; rank < kSize; ++rank) count += of(collective, rank, root) == kind ? 1 : 0;
  return count;
}

TEST(BuffersTest, RootsHaveWhatTheOthersDoNot) {
  for (uint32_t root = 0; root < kSize; ++root) {
    EXPECT_EQ(SendBuffer(Collective::kBcast, root, root), BufferKind::kOne);
    EXPECT_EQ(Count(ReceiveBuffer, Collective::kBcast, root, BufferKind::kOne), kSize - 1);
    EXPECT_EQ(ReceiveBuffer(Collective::kReduce, root, root), BufferKind::kOne);
    EXPECT_EQ(Count(ReceiveBuffer, Collective::kReduce, root, BufferKind::kNone), kSize - 1);
    for (const Collective c : {Collective::kGather, Collective::kGatherv}) {
      EXPECT_EQ(ReceiveBuffer(c, root, root), BufferKind::kBlocks);
      EXPECT_EQ(Count(ReceiveBuffer, c, root, BufferKind::kNone), kSize - 1);
      EXPECT_EQ(Count(SendBuffer, c, root, BufferKind::kOne), kSize);
    }
    for (const Collective c : {Collective::kScatter, Collective::kScatterv}) {
      EXPECT_EQ(SendBuffer(c, root, root), BufferKind::kBlocks);
      EXPECT_EQ(Count(SendBuffer, c, root, BufferKind::kNone), kSize - 1);
      EXPECT_EQ(Count(ReceiveBuffer, c, root, BufferKind::kOne), kSize);
    }
  }
}

TEST(BuffersTest, TheFirstRankOfAnExscanGetsNothing) {
  EXPECT_EQ(ReceiveBuffer(Collective::kExscan, 0, 3), BufferKind::kNone);
  EXPECT_EQ(Count(ReceiveBuffer, Collective::kExscan, 0, BufferKind::kOne), kSize - 1);
  EXPECT_EQ(Count(ReceiveBuffer, Collective::kScan, 0, BufferKind::kOne), kSize);
}

TEST(BuffersTest, ResultsAreMadeOfTheFirstRanksContributions) {
  EXPECT_EQ(OperandCount(Collective::kReduceScatterv, 2, kSize), kSize);
  EXPECT_EQ(OperandCount(Collective::kScan, 2, kSize), 3u);
  EXPECT_EQ(OperandCount(Collective::kExscan, 2, kSize), 2u);
  EXPECT_EQ(OperandCount(Collective::kExscan, 0, kSize), 0u);
  EXPECT_EQ(OperandCount(Collective::kAllgather, 2, kSize), 0u);
}

TEST(BuffersTest, BlocksComeFromTheRootOrFromTheRankInTheirPlace) {
  for (const Collective c : {Collective::kBcast, Collective::kScatter, Collective::kScatterv}) {
    EXPECT_EQ(SourceOf(c, 0, 2, kSize, 3), 3u);
  }
  for (const Collective c : {Collective::kGatherv, Collective::kAllgather, Collective::kAlltoall}) {
    EXPECT_EQ(SourceOf(c, 1, 2, kSize, 3), 1u);
  }
}

TEST(BuffersTest, OnlyIrregularCollectivesHaveLists) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const auto c = static_cast<Collective>(i);
    for (uint32_t rank = 0; rank < kSize; ++rank) {
      for (const uint8_t options : {uint8_t{0}, uint8_t{kCountsKnown}}) {
        const bool sends = GivesSendBlocks(c, options, rank, 2);
        const bool receives = GivesReceiveBlocks(c, options, rank, 2);
        if (!IsIrregular(c)) {
          EXPECT_FALSE(sends || receives || KnowsCounts(c, options)) << CollectiveName(c);
          continue;
        }
        // A rank with a buffer of blocks gives their layout; a rank that must know the counts has some list.
        EXPECT_TRUE(sends || SendBuffer(c, rank, 2) != BufferKind::kBlocks) << CollectiveName(c);
        EXPECT_TRUE(receives || ReceiveBuffer(c, rank, 2) != BufferKind::kBlocks) << CollectiveName(c);
        EXPECT_TRUE(sends != receives || !KnowsCounts(c, options)) << CollectiveName(c);
      }
    }
  }
}

}  // namespace
}  // namespace copse
