// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/early_verdict.h"

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

using copse::testing::Names;
using ::testing::Not;

constexpr uint64_t kMs = 1'000'000;

// Returns figures of calls that all blocked, most for `reason`.
EarlyFigures Blocked(BlockReason reason) {
  EarlyFigures early;
  early.blocked.fill(1);
  early.blocked[static_cast<size_t>(reason)] = 9;
  return early;
}

TEST(EarlyVerdictTest, TheReasonOfMostBlockingCallsIsNamed) {
  EXPECT_THAT(VerdictOf(Blocked(BlockReason::kTooShort)),
              Names("calls=0", "blocked=13", "too short=9", "limit=64KiB", "32 KiB", "--tnbc off"));
  EXPECT_THAT(VerdictOf(Blocked(BlockReason::kCombined)), Names("combined by the library=9", "--tnbc off"));
  EXPECT_THAT(VerdictOf(Blocked(BlockReason::kDoesNotPay)), Names("does not pay=9", "--tnbc off"));
  EXPECT_THAT(VerdictOf(Blocked(BlockReason::kNotSafe)), Names("not safe=9", "transparent.md"));
  EXPECT_THAT(VerdictOf(Blocked(BlockReason::kMemory)), Names("memory=9", "transparent.md"));
}

TEST(EarlyVerdictTest, WithoutOffloadedCallsNoneCouldReturnEarly) {
  EXPECT_THAT(VerdictOf(EarlyFigures()), Names("calls=0", "blocked=0", "--offload all"));
}

TEST(EarlyVerdictTest, HiddenTimeIsWhatTheProgramNeitherSpentNorWaited) {
  EarlyFigures early = {.calls = 56, .inside_ns = 19 * kMs, .behind_ns = 901 * kMs, .waited_ns = 582 * kMs};
  early.blocked[0] = 3;
  EXPECT_EQ(HiddenNs(early), 300.0 * kMs);
  EXPECT_THAT(VerdictOf(early), Names("300 ms", "901 ms", "19 ms in the calls", "582 ms", "calls=56", "blocked=3",
                                      "too short=3", "hidden=33%", "--tnbc auto"));
  early.is_auto = true;
  EXPECT_THAT(VerdictOf(early), Not(Names("--tnbc auto")));
}

TEST(EarlyVerdictTest, NothingHiddenIsTold) {
  const EarlyFigures early = {.calls = 5, .inside_ns = 10 * kMs, .behind_ns = 100 * kMs, .waited_ns = 88 * kMs};
  EXPECT_THAT(VerdictOf(early), Names("hid nothing", "hidden=2%", "--tnbc off"));
  // Two threads wait at once.
  const EarlyFigures twice = {.calls = 5, .inside_ns = 10 * kMs, .behind_ns = 100 * kMs, .waited_ns = 140 * kMs};
  EXPECT_THAT(VerdictOf(twice), Names("hid nothing", "hidden=-50%", "--tnbc off"));
  EXPECT_THAT(VerdictOf({.calls = 1}), Names("hidden=0%"));
}

}  // namespace
}  // namespace copse::mpi
