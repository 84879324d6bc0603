// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/selection.h"

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(SelectionTest, NoOptionIsNoSelector) {
  v1::ListTeamsRequest request;
  EXPECT_TRUE(ReadSelection(cli::Arguments{.values = {{"all", {"true"}}}}, &request).ok());
  EXPECT_FALSE(request.has_selector());
}

TEST(SelectionTest, UsersAreNamesOrIds) {
  v1::ListTeamsRequest request;
  EXPECT_TRUE(ReadSelection(cli::Arguments{.values = {{"user", {"root"}}, {"job", {"17"}}}}, &request).ok());
  EXPECT_TRUE(request.selector().has_uid());
  EXPECT_EQ(request.selector().uid(), 0u);
  EXPECT_EQ(request.selector().job(), "17");
  EXPECT_TRUE(ReadSelection(cli::Arguments{.values = {{"user", {"4294967294"}}}}, &request).ok());
  EXPECT_EQ(request.selector().uid(), 4294967294u);
  for (const std::string user : {"no such user", "4294967296", "-1"}) {
    EXPECT_THAT(ReadSelection(cli::Arguments{.values = {{"user", {user}}}}, &request),
                FailsWith(kInvalid, "user=" + user));
  }
}

}  // namespace
}  // namespace copse::ctl
