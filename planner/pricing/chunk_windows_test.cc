// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/chunk_windows.h"

#include "gtest/gtest.h"
#include "planner/pricing/prediction.h"

namespace copse::planner {
namespace {

TEST(ChunkWindowsTest, ANodeRunsAWindowOfChunks) {
  ChunkWindows windows(std::vector<uint32_t>(kTeamWindow + 2, 2), 1);
  EXPECT_EQ(windows.segment_count(), 2 * (kTeamWindow + 2));
  for (uint32_t c = 0; c < kTeamWindow; ++c) {
    EXPECT_FALSE(windows.HasStarted(0, 2 * c));
    const auto chunk = windows.StartChunk(0);
    ASSERT_TRUE(chunk.has_value());
    EXPECT_EQ(chunk->begin, 2 * c);
    EXPECT_EQ(chunk->end, 2 * c + 2);
    EXPECT_TRUE(windows.HasStarted(0, 2 * c + 1));
  }
  EXPECT_FALSE(windows.StartChunk(0).has_value());
  std::vector<uint32_t> told;
  EXPECT_FALSE(windows.EndSegment(0, 2, &told)) << "one of the second chunk's segments";
  EXPECT_FALSE(windows.EndSegment(0, 3, &told)) << "the first chunk runs";
  EXPECT_FALSE(windows.EndSegment(0, 0, &told));
  EXPECT_TRUE(windows.EndSegment(0, 1, &told));
  EXPECT_TRUE(windows.StartChunk(0).has_value());
  EXPECT_TRUE(windows.StartChunk(0).has_value()) << "two chunks have ended";
  EXPECT_FALSE(windows.StartChunk(0).has_value()) << "no chunk is left";
}

TEST(ChunkWindowsTest, SendersBeyondAPeersWindowWaitForItsCredit) {
  ChunkWindows windows(std::vector<uint32_t>(kTeamWindow + 1, 1), 3);
  EXPECT_TRUE(windows.HasCredit(0, 1, kTeamWindow - 1));
  for (const uint32_t node : {0, 2, 0}) EXPECT_FALSE(windows.HasCredit(node, 1, kTeamWindow));
  EXPECT_FALSE(windows.HasCredit(0, 2, kTeamWindow)) << "each node has a window of its own";
  std::vector<uint32_t> told;
  windows.StartChunk(1);
  EXPECT_TRUE(windows.EndSegment(1, 0, &told));
  EXPECT_EQ(told, (std::vector<uint32_t>{0, 2})) << "once each";
  EXPECT_TRUE(windows.HasCredit(0, 1, kTeamWindow));
  std::vector<uint32_t> peers;
  for (const ChunkWindows::Blocked& blocked : windows.TakeBlocked(0)) peers.push_back(blocked.peer);
  EXPECT_EQ(peers, (std::vector<uint32_t>{1, 1, 2}));
  EXPECT_TRUE(windows.TakeBlocked(0).empty());
}

}  // namespace
}  // namespace copse::planner
