// SPDX-License-Identifier: Apache-2.0

#include "base/ids.h"

#include <cstdint>
#include <sstream>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"

namespace copse {
namespace {

static_assert(!std::is_convertible_v<uint32_t, Rank>);
static_assert(!std::is_convertible_v<Rank, uint32_t>);
static_assert(!std::is_constructible_v<Rank, NodeIndex>);
static_assert(std::is_trivially_copyable_v<TeamId>);
static_assert(sizeof(Rank) == 4 && sizeof(CallSeq) == 8);

TEST(StrongIntTest, DefaultIsZero) { EXPECT_EQ(Rank().value(), 0u); }

TEST(StrongIntTest, Compares) {
  EXPECT_EQ(Rank(3), Rank(3));
  EXPECT_NE(Rank(3), Rank(4));
  EXPECT_LT(Rank(3), Rank(4));
  EXPECT_GE(CallSeq(UINT64_MAX), CallSeq(1));
}

TEST(StrongIntTest, CountsUp) {
  Rank rank(3);
  EXPECT_EQ(rank++, Rank(3));
  EXPECT_EQ(rank, Rank(4));
  EXPECT_EQ(++rank, Rank(5));
}

TEST(StrongIntTest, Hashes) {
  const absl::flat_hash_set<Rank> flat = {Rank(1), Rank(2), Rank(1)};
  EXPECT_EQ(flat.size(), 2u);
  const std::unordered_set<TeamId> unordered = {TeamId(1), TeamId(2), TeamId(1)};
  EXPECT_EQ(unordered.size(), 2u);
}

TEST(StrongIntTest, PrintsAsANumber) {
  std::ostringstream out;
  out << Rank(7) << ' ' << StrongInt<struct SmallTag, uint8_t>(65);
  EXPECT_EQ(out.str(), "7 65");
}

}  // namespace
}  // namespace copse
