// SPDX-License-Identifier: Apache-2.0
#include "base/failure.h"

#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/failure_of.h"
#include "gtest/gtest.h"

namespace copse {
namespace {

TEST(FailureOfTest, EveryStatusCodeIsOneFailure) {
  using absl::StatusCode;
  const std::pair<StatusCode, Failure> kMap[] = {
      {StatusCode::kOk, Failure::kNone},
      {StatusCode::kCancelled, Failure::kCanceled},
      {StatusCode::kUnknown, Failure::kInternal},
      {StatusCode::kInvalidArgument, Failure::kInvalidArgument},
      {StatusCode::kDeadlineExceeded, Failure::kTimedOut},
      {StatusCode::kNotFound, Failure::kInvalidArgument},
      {StatusCode::kAlreadyExists, Failure::kInternal},
      {StatusCode::kPermissionDenied, Failure::kPermission},
      {StatusCode::kResourceExhausted, Failure::kNoResource},
      {StatusCode::kFailedPrecondition, Failure::kVersion},
      {StatusCode::kAborted, Failure::kInternal},
      {StatusCode::kOutOfRange, Failure::kInvalidArgument},
      {StatusCode::kUnimplemented, Failure::kNotSupported},
      {StatusCode::kInternal, Failure::kInternal},
      {StatusCode::kUnavailable, Failure::kNoDaemon},
      {StatusCode::kDataLoss, Failure::kMemberLost},
      {StatusCode::kUnauthenticated, Failure::kPermission},
  };
  ASSERT_EQ(std::size(kMap), 17u);  // codes 0 to 16
  for (const auto& [code, failure] : kMap) EXPECT_EQ(FailureOf(code), failure) << static_cast<int>(code);
}

TEST(FailureCauseTest, EveryCauseHasAName) {
  std::set<std::string> names;
  for (int cause = 0; cause < kFailureCauseCount; ++cause) {
    names.insert(FailureCauseName(static_cast<FailureCause>(cause)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kFailureCauseCount));
  EXPECT_STREQ(FailureCauseName(FailureCause::kFault), "fault");
  EXPECT_STREQ(FailureCauseName(static_cast<FailureCause>(200)), "unknown");
}

TEST(FailureCauseTest, OnlyALostMemberNeedsACauseOfItsOwn) {
  for (int failure = 1; failure < kFailureCount; ++failure) {
    const bool unknown = UsualCause(static_cast<Failure>(failure)) == FailureCause::kUnknown;
    EXPECT_EQ(unknown, static_cast<Failure>(failure) == Failure::kMemberLost) << failure;
  }
}

}  // namespace
}  // namespace copse
