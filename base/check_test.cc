// SPDX-License-Identifier: Apache-2.0

#include "base/check.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace copse {
namespace {

enum class Color : uint8_t { kRed = 3 };

struct Opaque {
  int value;
  bool operator==(const Opaque&) const = default;
};

TEST(CheckTest, TrueConditionsPass) {
  const size_t size = 3;
  CHECK(size == 3);
  CHECK_EQ(size, 3);
  CHECK_NE(-1, size);
  CHECK_LT(-1, size);
  CHECK_LE(size, 3u);
  CHECK_GT(size, -1);
  CHECK_GE(size, int8_t{3});
  CHECK_EQ(std::string("a"), "a");
  CHECK_EQ(Color::kRed, Color::kRed);
  CHECK_EQ(Opaque{1}, Opaque{1});
  CHECK_NE(&size, nullptr);
  DCHECK(size == 3);
}

TEST(CheckTest, OperandsAreEvaluatedOnce) {
  int count = 0;
  CHECK_EQ(++count, 1);
  CHECK(++count == 2);
  EXPECT_EQ(count, 2);
}

TEST(CheckDeathTest, FailureNamesFileLineAndCondition) {
  const int two = 2;
  EXPECT_DEATH(CHECK(two == 3), "check_test.cc:[0-9]+: CHECK failed: two == 3");
}

TEST(CheckDeathTest, FailureNamesBothValues) {
  const int two = 2;
  EXPECT_DEATH(CHECK_EQ(two, 3), "CHECK failed: two == 3 \\(2 vs 3\\)");
  EXPECT_DEATH(CHECK_NE(two, 2), "two != 2 \\(2 vs 2\\)");
  EXPECT_DEATH(CHECK_LT(two, uint8_t{1}), "\\(2 vs 1\\)");
  EXPECT_DEATH(CHECK_LE(two, -1), "two <= -1 \\(2 vs -1\\)");
  EXPECT_DEATH(CHECK_GT(two, 2u), "two > 2u \\(2 vs 2\\)");
  EXPECT_DEATH(CHECK_GE(two, 3), "two >= 3 \\(2 vs 3\\)");
  EXPECT_DEATH(CHECK_EQ(true, false), "true vs false");
  EXPECT_DEATH(CHECK_NE(Color::kRed, Color::kRed), "3 vs 3");
  EXPECT_DEATH(CHECK_EQ(Opaque{1}, Opaque{2}), "\\? vs \\?");
  EXPECT_DEATH(CHECK_EQ(&two, nullptr), "0x[0-9a-f]+ vs nullptr");
}

TEST(CheckTest, DcheckIsFreeInReleaseBuilds) {
#ifdef NDEBUG
  int count = 0;
  DCHECK(++count == 7);
  EXPECT_EQ(count, 0);
#else
  EXPECT_DEATH(DCHECK(1 == 2), "1 == 2");
#endif
}

}  // namespace
}  // namespace copse
