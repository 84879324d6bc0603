// SPDX-License-Identifier: Apache-2.0

#include "client/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

namespace copse::client {
namespace {

TEST(ErrorTest, IsOneLinePerThread) {
  std::thread other([] {
    EXPECT_STREQ(LastError(), "");
    EXPECT_EQ(Fail(COPSE_ERR_INTERNAL, "two\nlines\x01"), COPSE_ERR_INTERNAL);
    EXPECT_STREQ(LastError(), "copse: library: two lines ");
  });
  other.join();
  EXPECT_STREQ(LastError(), "");
}

TEST(ErrorTest, TheOutermostCallIsNamed) {
  CallScope outer("team_create_from_parent");
  {
    CallScope inner("allreduce");
    EXPECT_EQ(Fail(COPSE_ERR_MISMATCH, "x"), COPSE_ERR_MISMATCH);
  }
  EXPECT_STREQ(LastError(), "copse: team_create_from_parent: x");
}

TEST(ErrorTest, LongTextsAreCutAndTheLastErrorMayBeAnArgument) {
  EXPECT_EQ(Fail(COPSE_ERR_INTERNAL, "%s", std::string(2000, 'y').c_str()), COPSE_ERR_INTERNAL);
  EXPECT_EQ(strlen(LastError()), 511u);
  EXPECT_EQ(Fail(COPSE_ERR_INTERNAL, "why"), COPSE_ERR_INTERNAL);
  EXPECT_EQ(Fail(COPSE_ERR_INTERNAL, "[%s]", LastError()), COPSE_ERR_INTERNAL);
  EXPECT_STREQ(LastError(), "copse: library: [copse: library: why]");
}

TEST(StatusTest, EachHasItsNameInItsString) {
  for (int value = COPSE_ERR_INTERNAL; value <= COPSE_INPROGRESS; ++value) {
    EXPECT_EQ(std::string(StatusString(static_cast<copse_status_t>(value))).substr(0, 6), "COPSE_") << value;
  }
  EXPECT_STREQ(StatusString(static_cast<copse_status_t>(-13)), "unknown status");
}

TEST(StatusTest, FromTheWireOnlyOurs) {
  EXPECT_EQ(StatusFromWire(0), COPSE_OK);
  EXPECT_EQ(StatusFromWire(-6), COPSE_ERR_MEMBER_LOST);
  for (const int32_t value : {1, -13, INT32_MIN, INT32_MAX}) EXPECT_EQ(StatusFromWire(value), COPSE_ERR_INTERNAL);
}

}  // namespace
}  // namespace copse::client
