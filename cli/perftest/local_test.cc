// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/local.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace copse::perftest {
namespace {

TEST(LocalTest, NoErrorIfAllAreDone) {
  const Outcome outcome = RunLocally(4, [](uint32_t) { return Outcome{}; });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.error, "");
}

TEST(LocalTest, TheLowestFailedRankSpeaks) {
  const Outcome outcome = RunLocally(4, [](uint32_t rank) {
    return rank == 0 ? Outcome{} : Outcome{1, "rank " + std::to_string(rank)};
  });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.error, "rank 1");
}

TEST(LocalTest, ATimeOutSpeaksBeforeAPlainFailure) {
  const Outcome outcome = RunLocally(4, [](uint32_t rank) {
    return rank == 2 ? Outcome{4, "timed out"} : Outcome{1, "member lost"};
  });
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.error, "timed out");
}

TEST(LocalTest, ARankThatASignalEndsIsNamed) {
  const Outcome outcome = RunLocally(3, [](uint32_t rank) {
    if (rank == 1) raise(SIGKILL);
    return Outcome{};
  });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.error, "rank 1: ended by a signal (signal=9)");
}

TEST(LocalTest, RanksThatWaitForAFailedOneAreKilledAndBlameless) {
  const Outcome outcome = RunLocally(3, [](uint32_t rank) {
    while (rank < 2) pause();
    return Outcome{3, "no daemon"};
  });
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.error, "no daemon");
}

}  // namespace
}  // namespace copse::perftest
