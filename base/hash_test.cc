// SPDX-License-Identifier: Apache-2.0

#include "base/hash.h"

#include <cstdint>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace copse {
namespace {

// Vectors of the FNV reference distribution (Fowler, Noll, Vo).
TEST(Fnv1a64Test, MatchesPublishedVectors) {
  EXPECT_EQ(Fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a64("foobar"), 0x85944171f73967e8u);
}

TEST(Fnv1a64Test, BytesAboveAsciiCountAsUnsigned) {
  EXPECT_EQ(Fnv1a64("\xff"), (kFnv1a64Seed ^ 0xff) * 0x100000001b3u);
}

TEST(Fnv1a64Test, PiecesHashLikeTheWhole) { EXPECT_EQ(Fnv1a64("bar", Fnv1a64("foo")), Fnv1a64("foobar")); }

TEST(Mix64Test, MatchesSplitmix64) {
  // These are the first outputs of splitmix64 seeded with 0.
  EXPECT_EQ(Mix64(0x9e3779b97f4a7c15), 0xe220a8397b1dcdafu);
  EXPECT_EQ(Mix64(2 * 0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(Fold16Test, NeighborsSpreadOut) {
  std::set<uint16_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) seen.insert(Fold16(i));
  // 1000 balls in 65,536 bins: about 8 collisions are expected.
  EXPECT_GT(seen.size(), 970u);
}

TEST(Fold16Test, IsPartOfTheFormatAndNeverChanges) {
  static_assert(Fold16(0) == 0);
  EXPECT_EQ(Fold16(1), 21857u);
  EXPECT_EQ(Fold16(Fnv1a64("foobar")), 9772u);
}

}  // namespace
}  // namespace copse
