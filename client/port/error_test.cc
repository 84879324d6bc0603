// SPDX-License-Identifier: Apache-2.0

#include "client/port/error.h"

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

TEST(ErrorTest, FailuresHaveTheUsualCauseUnlessTheySayAnother) {
  FailureFacts facts;
  for (int failure = 1; failure < kFailureCount; ++failure) {
    const auto status = static_cast<copse_status_t>(-failure);
    EXPECT_EQ(Fail(status, "x"), status);
    EXPECT_EQ(LastFailure(&facts), status);
    EXPECT_EQ(facts.cause, static_cast<uint8_t>(UsualCause(static_cast<Failure>(failure))));
    EXPECT_STREQ(facts.node, "");
  }
  EXPECT_EQ(FailWith(COPSE_ERR_MEMBER_LOST, FactsOfNode(FailureCause::kProcessDied, "n2"), "x"), COPSE_ERR_MEMBER_LOST);
  EXPECT_EQ(LastFailure(&facts), COPSE_ERR_MEMBER_LOST);
  EXPECT_EQ(facts.cause, static_cast<uint8_t>(FailureCause::kProcessDied));
  EXPECT_STREQ(facts.node, "n2");
}

// copse.h is C and stands alone, so it repeats the numbers.
static_assert(COPSE_ERR_INVALID_ARGUMENT == -static_cast<int>(Failure::kInvalidArgument));
static_assert(COPSE_ERR_NO_DAEMON == -static_cast<int>(Failure::kNoDaemon));
static_assert(COPSE_ERR_VERSION == -static_cast<int>(Failure::kVersion));
static_assert(COPSE_ERR_NO_RESOURCE == -static_cast<int>(Failure::kNoResource));
static_assert(COPSE_ERR_TIMED_OUT == -static_cast<int>(Failure::kTimedOut));
static_assert(COPSE_ERR_MEMBER_LOST == -static_cast<int>(Failure::kMemberLost));
static_assert(COPSE_ERR_MISMATCH == -static_cast<int>(Failure::kMismatch));
static_assert(COPSE_ERR_CANCELED == -static_cast<int>(Failure::kCanceled));
static_assert(COPSE_ERR_NOT_SUPPORTED == -static_cast<int>(Failure::kNotSupported));
static_assert(COPSE_ERR_NO_MEMORY == -static_cast<int>(Failure::kNoMemory));
static_assert(COPSE_ERR_PERMISSION == -static_cast<int>(Failure::kPermission));
static_assert(COPSE_ERR_INTERNAL == -static_cast<int>(Failure::kInternal));

TEST(CauseTest, TheHeadersAndOursAreTheSame) {
  const std::pair<copse_cause_t, FailureCause> kCauses[] = {
      {COPSE_CAUSE_UNKNOWN, FailureCause::kUnknown},
      {COPSE_CAUSE_PROCESS_DIED, FailureCause::kProcessDied},
      {COPSE_CAUSE_MEMBER_LEFT, FailureCause::kMemberLeft},
      {COPSE_CAUSE_NODE_RESTARTED, FailureCause::kNodeRestarted},
      {COPSE_CAUSE_CONNECTION_LOST, FailureCause::kConnectionLost},
      {COPSE_CAUSE_NODE_SILENT, FailureCause::kNodeSilent},
      {COPSE_CAUSE_NODE_REMOVED, FailureCause::kNodeRemoved},
      {COPSE_CAUSE_TEAM_BROKEN, FailureCause::kTeamBroken},
      {COPSE_CAUSE_NODE_DRAINING, FailureCause::kNodeDraining},
      {COPSE_CAUSE_BAD_ARGUMENT, FailureCause::kBadArgument},
      {COPSE_CAUSE_RANKS_DIFFER, FailureCause::kRanksDiffer},
      {COPSE_CAUSE_NOT_FORMED_IN_TIME, FailureCause::kNotFormedInTime},
      {COPSE_CAUSE_CALLER_TIME_OUT, FailureCause::kCallerTimeOut},
      {COPSE_CAUSE_QUOTA, FailureCause::kQuota},
      {COPSE_CAUSE_NO_PLANNER, FailureCause::kNoPlanner},
      {COPSE_CAUSE_CANCELED_BY_CALLER, FailureCause::kCanceledByCaller},
      {COPSE_CAUSE_VERSIONS_DIFFER, FailureCause::kVersionsDiffer},
      {COPSE_CAUSE_NOT_PERMITTED, FailureCause::kNotPermitted},
      {COPSE_CAUSE_DAEMON_GONE, FailureCause::kDaemonGone},
      {COPSE_CAUSE_NOT_SUPPORTED, FailureCause::kNotSupported},
      {COPSE_CAUSE_OUT_OF_MEMORY, FailureCause::kOutOfMemory},
      {COPSE_CAUSE_FAULT, FailureCause::kFault},
  };
  ASSERT_EQ(std::size(kCauses), static_cast<size_t>(kFailureCauseCount));
  for (const auto& [header, ours] : kCauses) EXPECT_EQ(static_cast<int>(header), static_cast<int>(ours));
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
