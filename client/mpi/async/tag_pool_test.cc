// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/tag_pool.h"

#include <gtest/gtest.h>

namespace copse::mpi {
namespace {

TEST(TagPoolTest, IssuesEachTagOnceUntilItComesBack) {
  TagPool tags(3);
  for (int tag = 1; tag <= 3; ++tag) EXPECT_EQ(tags.Take(), tag);
  EXPECT_FALSE(tags.Take().has_value());
  tags.Return(2);
  EXPECT_EQ(tags.Take(), 2);
  EXPECT_FALSE(tags.Take().has_value());
}

TEST(TagPoolTest, ATagThatComesBackIsIssuedLast) {
  TagPool tags(3);
  ASSERT_EQ(tags.Take(), 1);
  tags.Return(1);
  EXPECT_EQ(tags.Take(), 2);
  EXPECT_EQ(tags.Take(), 3);
  EXPECT_EQ(tags.Take(), 1);
}

}  // namespace
}  // namespace copse::mpi
