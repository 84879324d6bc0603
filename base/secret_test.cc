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

TEST(SecretTest, AWipedTextIsOverwritten) {
  std::string secret = "a key that is longer than what a string keeps within itself";
  const char* const memory = secret.data();
  const size_t bytes = secret.size();
  Wipe(&secret);
  EXPECT_TRUE(secret.empty());
  // The capacity is kept, so the memory is still the string's.
  for (size_t i = 0; i < bytes; ++i) EXPECT_EQ(memory[i], 0) << i;
}

}  // namespace
}  // namespace copse
