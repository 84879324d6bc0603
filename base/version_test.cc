// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"

namespace copse {
namespace {

using testing::FailsWith;

TEST(VersionTest, NeighborsAreCompatible) {
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
  EXPECT_THAT(CheckVersion("ring layout", 1, 3),
              FailsWith(absl::StatusCode::kFailedPrecondition, "ring layout 3", "side 1"));
}

}  // namespace
}  // namespace copse
