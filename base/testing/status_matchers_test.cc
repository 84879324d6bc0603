// SPDX-License-Identifier: Apache-2.0
#include "base/testing/status_matchers.h"

#include <string>

#include "gtest/gtest.h"

namespace copse::testing {
namespace {

using ::testing::Not;

TEST(NamesTest, AThingIsFoundOnItsOwnOnly) {
  const std::string text = "team 7: too many (ranks=23, limit=16): n[1-2]";
  EXPECT_THAT(text, Names("team 7", "ranks=23", "limit=16"));
  EXPECT_THAT(text, Names("n[1-2]"));
  EXPECT_THAT(text, Names("(ranks=23"));
  EXPECT_THAT(text, Not(Names("ranks=2")));
  EXPECT_THAT(text, Not(Names("anks=23")));
  EXPECT_THAT(text, Not(Names("ranks=23", "limit=15")));
  EXPECT_THAT("limit=166 limit=16", Names("limit=16"));
}

TEST(FailsWithTest, MatchesCodeAndThings) {
  const absl::Status status = absl::NotFoundError("no such plan (plan=7)");
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kNotFound, "plan=7"));
  EXPECT_THAT(status, FailsWith(absl::StatusCode::kNotFound));
  EXPECT_THAT(status, Not(FailsWith(absl::StatusCode::kInternal, "plan=7")));
  EXPECT_THAT(status, Not(FailsWith(absl::StatusCode::kNotFound, "plan=8")));
  EXPECT_THAT(absl::StatusOr<int>(status), FailsWith(absl::StatusCode::kNotFound, "plan=7"));
  EXPECT_THAT(absl::StatusOr<int>(3), Not(FailsWith(absl::StatusCode::kNotFound)));
  EXPECT_THAT(absl::OkStatus(), Not(FailsWith(absl::StatusCode::kNotFound)));
}

}  // namespace
}  // namespace copse::testing
