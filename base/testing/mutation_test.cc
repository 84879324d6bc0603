// SPDX-License-Identifier: Apache-2.0

#include "base/testing/mutation.h"

#include <set>
#include <string>

#include "base/prng.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(MutationTest, NoChangeIsTheText) {
  Prng prng(1);
  EXPECT_EQ(Mutated("abc", {"x"}, 0, prng), "abc");
}

TEST(MutationTest, ChangesDifferAndRepeatWithTheSeed) {
  Prng one(7), other(7);
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = Mutated("name: core", {"[1-4]"}, 1 + one.Below(3), one);
    EXPECT_EQ(text, Mutated("name: core", {"[1-4]"}, 1 + other.Below(3), other));
    seen.insert(text);
  }
  EXPECT_GT(seen.size(), 500u);
}

TEST(MutationTest, EmptyTextsAndPiecesAreTaken) {
  Prng prng(3);
  bool grown = false;
  for (int i = 0; i < 1000; ++i) grown |= !Mutated("", {"", "piece"}, 3, prng).empty();
  EXPECT_TRUE(grown);
}

}  // namespace
}  // namespace copse
