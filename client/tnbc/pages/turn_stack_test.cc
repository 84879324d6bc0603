// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/turn_stack.h"

#include <signal.h>

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

TEST(TurnStackTest, OneFunctionRunsOnItAtATime) {
  TurnStack stack;
  ASSERT_TRUE(stack.Map());
  for (int i = 0; i < 2; ++i) {
    bool is_called = false, is_called_within = false, has_run_within = true;
    EXPECT_TRUE(stack.Run([&] {
      is_called = true;
      has_run_within = stack.Run([&] { is_called_within = true; });
    }));
    EXPECT_TRUE(is_called);
    EXPECT_FALSE(has_run_within);
    EXPECT_FALSE(is_called_within);
  }
}

TEST(TurnStackTest, SignalsAreHeldAndTheAlternateStackIsOffMeanwhile) {
  TurnStack stack;
  ASSERT_TRUE(stack.Map());
  std::vector<char> memory(64 << 10);
  const stack_t alternate = {.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  stack_t before{}, within{}, after{};
  ASSERT_EQ(sigaltstack(&alternate, &before), 0);
  sigset_t held_within, held_after;
  ASSERT_TRUE(stack.Run([&] {
    sigaltstack(nullptr, &within);
    pthread_sigmask(SIG_BLOCK, nullptr, &held_within);
  }));
  pthread_sigmask(SIG_BLOCK, nullptr, &held_after);
  ASSERT_EQ(sigaltstack(&before, &after), 0);
  EXPECT_NE(within.ss_flags & SS_DISABLE, 0);
  EXPECT_EQ(after.ss_sp, alternate.ss_sp);
  EXPECT_EQ(sigismember(&held_within, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&held_within, SIGSEGV), 0);
  EXPECT_EQ(sigismember(&held_after, SIGUSR1), 0);
}

}  // namespace
}  // namespace copse::tnbc
