// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"

#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(SecretTest, OnlyEqualTextsAreTheSame) {
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "xbc"));
  EXPECT_FALSE(SameSecret("abc", "ab"));
  EXPECT_FALSE(SameSecret("", "a"));
}

}  // namespace
}  // namespace copse
