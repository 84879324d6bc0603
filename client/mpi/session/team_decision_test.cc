// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/team_decision.h"

#include <vector>

#include "gtest/gtest.h"

namespace copse::mpi {
namespace {

TEST(TeamDecisionTest, AFixedNumberOfCallsIsFinal) {
  TeamDecision decision;
  for (int call = 0; call < 4; ++call) EXPECT_FALSE(decision.Count(4, /*weighs=*/false, true));
  EXPECT_FALSE(decision.Count(4, false, /*may_wait=*/false));
  EXPECT_FALSE(decision.is_final());
  EXPECT_TRUE(decision.Count(4, false, true));
  EXPECT_TRUE(decision.is_final());
}

TEST(TeamDecisionTest, WhatIsWeighedIsLookedAtSeldomAndFinalInTheEnd) {
  TeamDecision decision;
  std::vector<int> looks;
  int call = 0;
  for (; !decision.is_final(); ++call) {
    if (!decision.Count(10, /*weighs=*/true, true) || decision.is_final()) continue;
    looks.push_back(call);
    decision.Postpone();
  }
  EXPECT_EQ(looks, (std::vector<int>{10, 22, 46, 94, 190, 382, 766, 1534, 3070, 6142, 12286}));
  EXPECT_EQ(call, 16385);
}

TEST(TeamDecisionTest, AFailureIsTriedAgainLater) {
  TeamDecision decision;
  EXPECT_TRUE(decision.Count(0, false, true));
  EXPECT_FALSE(decision.has_failed());
  decision.OnNoTeam();
  EXPECT_TRUE(decision.has_failed());
  EXPECT_FALSE(decision.Count(0, false, true));
  EXPECT_TRUE(decision.Count(0, false, true));
  for (int call = 3; call < 5000; ++call) decision.Count(0, false, true);
  decision.OnNoTeam();
  int calls = 1;
  while (!decision.Count(0, false, true)) ++calls;
  EXPECT_EQ(calls, 1025);
}

}  // namespace
}  // namespace copse::mpi
