// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/chunk_progress.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

TEST(ChunkProgressTest, ARankWaitsFromItsJoinToItsEvent) {
  ChunkProgress progress(2);
  EXPECT_FALSE(progress.joined(0));
  EXPECT_FALSE(progress.waits_for(0));
  progress.Join(0);
  EXPECT_TRUE(progress.joined(0));
  EXPECT_TRUE(progress.waits_for(0));
  EXPECT_FALSE(progress.joined(1));
  progress.Notify(0);
  EXPECT_TRUE(progress.joined(0));
  EXPECT_FALSE(progress.waits_for(0));
}

TEST(ChunkProgressTest, RanksAdvanceApartAndOneFailureStays) {
  ChunkProgress progress(2);
  progress.Start(0);
  progress.Start(0);
  progress.Done(0, /*failed=*/true);
  progress.Done(0, /*failed=*/false);
  EXPECT_EQ(progress.next(0), 2u);
  EXPECT_EQ(progress.done(0), 2u);
  EXPECT_EQ(progress.next(1), 0u);
  EXPECT_TRUE(progress.failed(0));
  EXPECT_FALSE(progress.failed(1));
  EXPECT_TRUE(progress.any_failed());
  EXPECT_EQ(progress.over(), 0u);
  progress.Over();
  EXPECT_EQ(progress.over(), 1u);
}

}  // namespace
}  // namespace copse::daemon
