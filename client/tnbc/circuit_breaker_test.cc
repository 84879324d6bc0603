// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/circuit_breaker.h"

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// So many calls of which each costs that. Returns how many returned early.
int MakeCalls(Fuse* fuse, int calls, uint64_t early_ns, uint64_t blocking_ns) {
  int early = 0;
  for (int i = 0; i < calls; ++i) {
    if (fuse->MayReturnEarly()) {
      ++early;
      fuse->CountEarly(early_ns);
    } else {
      fuse->CountBlocking(blocking_ns);
    }
  }
  return early;
}

TEST(FuseTest, CallsThatPayReturnEarly) {
  Fuse fuse;
  EXPECT_EQ(MakeCalls(&fuse, 6, 50, 100), 6);
  EXPECT_GT(MakeCalls(&fuse, 1000, 50, 100), 900);
  EXPECT_FALSE(fuse.is_blown());
  EXPECT_EQ(fuse.blown(), 0u);
}

TEST(FuseTest, CallsThatDoNotPayBlock) {
  Fuse fuse;
  EXPECT_LT(MakeCalls(&fuse, 1000, 100, 100), 60);
  EXPECT_TRUE(fuse.is_blown());
  EXPECT_EQ(fuse.blown(), 1u);
}

TEST(FuseTest, ItIsTriedAgainNowAndThen) {
  Fuse fuse;
  MakeCalls(&fuse, 500, 200, 100);
  ASSERT_TRUE(fuse.is_blown());
  EXPECT_GT(MakeCalls(&fuse, 10'000, 50, 100), 5'000);
  EXPECT_FALSE(fuse.is_blown());
  MakeCalls(&fuse, 10'000, 200, 100);
  EXPECT_TRUE(fuse.is_blown());
  EXPECT_EQ(fuse.blown(), 2u);
}

// Its memory cannot be protected, say: then there is nothing to compare with.
TEST(FuseTest, WithoutEarlyCallsNothingIsDecided) {
  Fuse fuse;
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(fuse.MayReturnEarly());
    fuse.CountBlocking(100);
  }
  EXPECT_FALSE(fuse.is_blown());
}

}  // namespace
}  // namespace copse::tnbc
