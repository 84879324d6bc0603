// SPDX-License-Identifier: Apache-2.0
#include "base/shared.h"

#include <string>

#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(SharedTest, CopiesShareTheValue) {
  const Shared<std::string> a = std::string("text"), b = a, c = std::string("text"), none;
  EXPECT_EQ(a->data(), b->data());
  EXPECT_TRUE(a.IsCopyOf(b));
  EXPECT_FALSE(a.IsCopyOf(c));
  EXPECT_EQ(a, c);
  EXPECT_NE(a, none);
  EXPECT_EQ(*none, "");
}

}  // namespace
}  // namespace copse
