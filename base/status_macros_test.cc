// SPDX-License-Identifier: Apache-2.0

#include "base/status_macros.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse {
namespace {

absl::Status ReturnIfError(const absl::Status& status, bool* reached) {
  RETURN_IF_ERROR(status);
  *reached = true;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, ReturnIfErrorPassesOnOk) {
  bool reached = false;
  EXPECT_TRUE(ReturnIfError(absl::OkStatus(), &reached).ok());
  EXPECT_TRUE(reached);
}

TEST(StatusMacrosTest, ReturnIfErrorReturnsTheError) {
  bool reached = false;
  EXPECT_EQ(ReturnIfError(absl::NotFoundError("gone"), &reached), absl::NotFoundError("gone"));
  EXPECT_FALSE(reached);
}

template <typename A, typename B>
absl::StatusOr<std::pair<A, B>> MakePair(A a, B b) {
  return std::pair<A, B>(a, b);
}

absl::StatusOr<int> SumOf(absl::StatusOr<std::unique_ptr<int>> a, absl::StatusOr<int> b) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> owned, std::move(a));
  int second = 0;
  ASSIGN_OR_RETURN(second, b);
  ASSIGN_OR_RETURN(const auto both, MakePair<int, int>(*owned, second));
  return both.first + both.second;
}

TEST(StatusMacrosTest, AssignOrReturnMovesTheValue) { EXPECT_EQ(*SumOf(std::make_unique<int>(3), 4), 7); }

TEST(StatusMacrosTest, AssignOrReturnReturnsTheError) {
  EXPECT_EQ(SumOf(std::make_unique<int>(3), absl::InternalError("b")).status(), absl::InternalError("b"));
  EXPECT_EQ(SumOf(absl::InternalError("a"), 4).status(), absl::InternalError("a"));
}

}  // namespace
}  // namespace copse
