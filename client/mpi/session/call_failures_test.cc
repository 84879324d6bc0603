// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/call_failures.h"

#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

TEST(CallFailuresTest, ALateFailureIsTakenOnce) {
  CallFailures failures;
  EXPECT_EQ(failures.TakeLate(), COPSE_OK);
  failures.NoteLate(COPSE_ERR_TIMED_OUT);
  EXPECT_EQ(failures.TakeLate(), COPSE_ERR_TIMED_OUT);
  EXPECT_EQ(failures.TakeLate(), COPSE_OK);
}

TEST(CallFailuresTest, ARankThatHasNotPostedAloneIsOutOfStep) {
  CallFailures failures;
  EXPECT_FALSE(failures.is_out_of_step());
  failures.NoteNotPosted(COPSE_OK);
  failures.NoteNotPosted(COPSE_ERR_MEMBER_LOST);  // all ranks get it
  EXPECT_FALSE(failures.is_out_of_step());
  failures.NoteNotPosted(COPSE_ERR_NO_RESOURCE);
  EXPECT_TRUE(failures.is_out_of_step());
}

TEST(CallFailuresTest, OneFailureIsTheFirst) {
  CallFailures failures;
  EXPECT_TRUE(failures.IsFirst());
  EXPECT_FALSE(failures.IsFirst());
}

}  // namespace
}  // namespace copse::mpi
