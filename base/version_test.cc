// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace copse {
namespace {

TEST(VersionTest, NeighboursAreCompatible) {
  EXPECT_TRUE(Compatible(2, 1));
  EXPECT_TRUE(Compatible(2, 2));
  EXPECT_TRUE(Compatible(2, 3));
}

TEST(VersionTest, TwoStepsAreNot) {
  EXPECT_FALSE(Compatible(3, 1));
  EXPECT_FALSE(Compatible(1, 3));
  EXPECT_FALSE(Compatible(0, UINT32_MAX));
  EXPECT_FALSE(Compatible(UINT32_MAX, 0));
}

TEST(VersionTest, MismatchNamesBothNumbers) {
  EXPECT_TRUE(CheckVersion("ring layout", 1, 2).ok());
  EXPECT_EQ(CheckVersion("ring layout", 1, 3), absl::FailedPreconditionError("ring layout 3 (this side 1)"));
}

}  // namespace
}  // namespace copse
