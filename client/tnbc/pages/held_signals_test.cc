// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/held_signals.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "client/tnbc/pages/page_guard.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

volatile sig_atomic_t alarms = 0, traps = 0;

TEST(HeldSignalsTest, HandlersWaitForTheOutermostOneIfThereIsAGuard) {
  signal(SIGALRM, [](int) { alarms = alarms + 1; });
  signal(SIGTRAP, [](int) { traps = traps + 1; });
  {
    const HeldSignals held;
    raise(SIGALRM);
    EXPECT_EQ(alarms, 1);
  }
  const char* why = "";
  ASSERT_NE(PageGuard::Start({[](uintptr_t) {}, [] {}}, &why), nullptr) << why;
  {
    const HeldSignals held;
    {
      const HeldSignals inner;
      raise(SIGALRM);
    }
    EXPECT_EQ(alarms, 1);
    raise(SIGTRAP);
    EXPECT_EQ(traps, 1);
    errno = ERANGE;
  }
  EXPECT_EQ(errno, ERANGE);
  kill(getpid(), 0);  // TSAN hands on what has come at the next of these functions
  EXPECT_EQ(alarms, 2);
}

TEST(HeldSignalsTest, WhatWasBlockedStaysSo) {
  sigset_t alarm, now;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  { const HeldSignals held; }
  pthread_sigmask(SIG_UNBLOCK, &alarm, &now);
  EXPECT_EQ(sigismember(&now, SIGALRM), 1);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 0);
}

}  // namespace
}  // namespace copse::tnbc
