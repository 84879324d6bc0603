// SPDX-License-Identifier: Apache-2.0
//
// Signals of programs whose memory may be pending: what they are told of SIGSEGV, and what the kernel does with it.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>
#include <set>
#include <string>

#include "client/preload/libc_calls.h"
#include "client/preload/libc_test_engine.h"
#include "gtest/gtest.h"

// Functions of libc that its headers show to some programs only.
extern "C" {
int __ppoll_chk(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
sighandler_t bsd_signal(int, sighandler_t);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // sigset(), sigblock() and their kin

namespace copse::preload {
namespace {

constexpr uint64_t BitOf(int signal) { return uint64_t{1} << (signal - 1); }

sigset_t SetOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

sigset_t AllSignals() {
  sigset_t set;
  sigfillset(&set);
  return set;
}

// What the kernel blocks for this thread.
uint64_t KernelMask() {
  uint64_t mask = 0;
  EXPECT_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof(mask)), 0);
  return mask;
}

uint64_t KernelMaskInStatus() {
  FILE* status = fopen("/proc/thread-self/status", "r");
  char line[256];
  unsigned long mask = 0;
  while (fgets(line, sizeof(line), status) != nullptr) {
    if (sscanf(line, "SigBlk: %lx", &mask) == 1) break;
  }
  fclose(status);
  return mask;
}

using HandlerFunction = sighandler_t (*)(int, sighandler_t);
using MaskFunction = int (*)(int, const sigset_t*, sigset_t*);

// Whether the program is told that it blocks the signal.
bool IsBlocked(MaskFunction function, int signal) {
  sigset_t set;
  EXPECT_EQ(function(SIG_BLOCK, nullptr, &set), 0);
  return sigismember(&set, signal) == 1;
}

TEST(LibcSignalsTest, AMaskShowsWhatTheProgramSetAndTheKernelNeverBlocksFaults) {
  for (const MaskFunction function : {&sigprocmask, &pthread_sigmask}) {
    InChild([=] {
      SetHooks();
      const sigset_t both = SetOf({SIGSEGV, SIGUSR1}), fault = SetOf({SIGSEGV}), all = AllSignals();
      sigset_t previous;
      EXPECT_EQ(function(SIG_BLOCK, &both, &previous), 0);
      EXPECT_FALSE(sigismember(&previous, SIGSEGV));
      EXPECT_EQ(KernelMask(), BitOf(SIGUSR1));
      EXPECT_EQ(KernelMaskInStatus(), BitOf(SIGUSR1));
      EXPECT_TRUE(IsBlocked(function, SIGSEGV));
      EXPECT_TRUE(IsBlocked(function, SIGUSR1));

      EXPECT_EQ(function(SIG_UNBLOCK, &fault, &previous), 0);
      EXPECT_TRUE(sigismember(&previous, SIGSEGV));
      EXPECT_FALSE(IsBlocked(function, SIGSEGV));
      EXPECT_TRUE(IsBlocked(function, SIGUSR1));

      previous = all;
      EXPECT_EQ(function(SIG_SETMASK, &previous, &previous), 0);
      EXPECT_FALSE(sigismember(&previous, SIGSEGV));
      EXPECT_TRUE(IsBlocked(function, SIGSEGV));
      EXPECT_EQ(KernelMask() & BitOf(SIGSEGV), 0u);
      EXPECT_EQ(function(SIG_SETMASK, &previous, nullptr), 0);
      EXPECT_FALSE(IsBlocked(function, SIGSEGV));
      EXPECT_TRUE(IsBlocked(function, SIGUSR1));
      EXPECT_NE(function(99, &fault, nullptr), 0);
      EXPECT_FALSE(IsBlocked(function, SIGSEGV));
    });
  }
}

TEST(LibcSignalsTest, WithoutHooksAFaultIsBlocked) {
  InChild([] {
    const sigset_t fault = SetOf({SIGSEGV});
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &fault, nullptr), 0);
    EXPECT_EQ(KernelMaskInStatus(), BitOf(SIGSEGV));
    EXPECT_TRUE(IsBlocked(&sigprocmask, SIGSEGV));
    struct sigaction action;
    EXPECT_EQ(sigaction(SIGKILL, &action, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
  });
}

TEST(LibcSignalsTest, IntMasksShowWhatTheProgramSet) {
  InChild([] {
    SetHooks();
    constexpr int kFault = 1 << (SIGSEGV - 1), kUser = 1 << (SIGUSR1 - 1);
    EXPECT_EQ(sigblock(kFault | kUser), 0);
    EXPECT_EQ(KernelMask(), BitOf(SIGUSR1));
    EXPECT_EQ(siggetmask(), kFault | kUser);
    EXPECT_EQ(sigsetmask(kUser), kFault | kUser);
    EXPECT_EQ(sigsetmask(kFault), kUser);
    EXPECT_EQ(siggetmask(), kFault);
    EXPECT_EQ(KernelMask(), 0u);
  });
}

TEST(LibcSignalsTest, SystemVFunctionsShowWhatTheProgramSet) {
  InChild([] {
    SetHooks();
    EXPECT_EQ(sighold(SIGSEGV), 0);
    EXPECT_EQ(sighold(SIGUSR1), 0);
    EXPECT_TRUE(IsBlocked(&sigprocmask, SIGSEGV));
    EXPECT_EQ(KernelMask(), BitOf(SIGUSR1));
    EXPECT_EQ(sigrelse(SIGSEGV), 0);
    EXPECT_FALSE(IsBlocked(&sigprocmask, SIGSEGV));
    EXPECT_EQ(sigset(SIGSEGV, SIG_HOLD), SIG_DFL);
    EXPECT_TRUE(IsBlocked(&sigprocmask, SIGSEGV));
    EXPECT_EQ(sigset(SIGSEGV, SIG_IGN), SIG_HOLD);
    EXPECT_FALSE(IsBlocked(&sigprocmask, SIGSEGV));
    EXPECT_EQ(sigset(SIGSEGV, SIG_DFL), SIG_IGN);
    EXPECT_EQ(KernelMask(), BitOf(SIGUSR1));
  });
}

uint64_t mask_in_handler;
void NoteMask(int) { mask_in_handler = KernelMask(); }

TEST(LibcSignalsTest, AHandlerBlocksNoFaults) {
  InChild([] {
    SetHooks();
    struct sigaction action = {}, previous = {};
    action.sa_handler = NoteMask;
    action.sa_mask = SetOf({SIGSEGV, SIGUSR2});
    EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    raise(SIGUSR1);
    EXPECT_EQ(mask_in_handler, BitOf(SIGUSR1) | BitOf(SIGUSR2));
    EXPECT_EQ(sigaction(SIGUSR1, nullptr, &previous), 0);
    EXPECT_TRUE(sigismember(&previous.sa_mask, SIGSEGV));
    EXPECT_TRUE(sigismember(&previous.sa_mask, SIGUSR2));
    EXPECT_EQ(previous.sa_handler, NoteMask);
    EXPECT_EQ(signal(SIGUSR1, SIG_IGN), NoteMask);
    EXPECT_EQ(sigaction(SIGUSR1, &action, &previous), 0);
    EXPECT_FALSE(sigismember(&previous.sa_mask, SIGSEGV));
    EXPECT_EQ(sigaction(0, &action, nullptr), -1);
    EXPECT_EQ(errno, EINVAL);
  });
}

TEST(LibcSignalsTest, WhatWasBlockedBeforeThereWereHooksIsToo) {
  InChild([] {
    const sigset_t both = SetOf({SIGSEGV, SIGUSR2});
    struct sigaction action = {}, previous = {};
    action.sa_handler = NoteMask;
    action.sa_mask = both;
    EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    EXPECT_EQ(sigprocmask(SIG_BLOCK, &both, nullptr), 0);
    SetHooks();
    EXPECT_EQ(KernelMask(), BitOf(SIGUSR2));
    EXPECT_TRUE(IsBlocked(&sigprocmask, SIGSEGV));
    raise(SIGUSR1);
    EXPECT_EQ(mask_in_handler, BitOf(SIGUSR1) | BitOf(SIGUSR2));
    EXPECT_EQ(sigaction(SIGUSR1, nullptr, &previous), 0);
    EXPECT_TRUE(sigismember(&previous.sa_mask, SIGSEGV));
  });
}

// Waits with all signals blocked but SIGUSR1; returns what the function does.
struct MaskedWait {
  const char* name;
  int (*run)(const sigset_t* set);
};
constexpr timespec kLong = {600, 0};

// The function of before POSIX; headers have the other one.
const auto bsd_sigpause = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "sigpause"));

const MaskedWait kMaskedWaits[] = {
    {"sigpause", [](const sigset_t* set) { return bsd_sigpause(static_cast<int>(set->__val[0])); }},
    {"sigsuspend", [](const sigset_t* set) { return sigsuspend(set); }},
    {"ppoll", [](const sigset_t* set) { return ppoll(nullptr, 0, &kLong, set); }},
    {"__ppoll_chk", [](const sigset_t* set) { return __ppoll_chk(nullptr, 0, &kLong, set, 0); }},
    {"pselect", [](const sigset_t* set) { return pselect(0, nullptr, nullptr, nullptr, &kLong, set); }},
    {"epoll_pwait",
     [](const sigset_t* set) {
       epoll_event event;
       return epoll_pwait(epoll_create1(0), &event, 1, -1, set);
     }},
    {"epoll_pwait2",
     [](const sigset_t* set) {
       epoll_event event;
       return epoll_pwait2(epoll_create1(0), &event, 1, nullptr, set);
     }},
};

TEST(LibcSignalsTest, NoFaultsAreBlockedWhileWaiting) {
  for (const MaskedWait& wait : kMaskedWaits) {
    SCOPED_TRACE(wait.name);
    InChild([&] {
      SetHooks();
      const sigset_t user = SetOf({SIGUSR1});
      sigset_t others = AllSignals();
      sigdelset(&others, SIGUSR1);
      signal(SIGUSR1, NoteMask);
      sigprocmask(SIG_BLOCK, &user, nullptr);
      raise(SIGUSR1);
      EXPECT_EQ(wait.run(&others), -1);
      EXPECT_EQ(errno, EINTR);
      EXPECT_NE(mask_in_handler & BitOf(SIGUSR2), 0u);
      EXPECT_EQ(mask_in_handler & BitOf(SIGSEGV), 0u);
      EXPECT_TRUE(sigismember(&others, SIGSEGV));
    });
  }
}

TEST(LibcSignalsTest, AThreadStartsWithFaultsUnblocked) {
  InChild([] {
    SetHooks();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    const sigset_t both = SetOf({SIGSEGV, SIGUSR1});
    EXPECT_EQ(pthread_attr_setsigmask_np(&attributes, &both), 0);
    pthread_t thread;
    uint64_t mask = 0;
    const auto body = [](void* argument) -> void* {
      *static_cast<uint64_t*>(argument) = KernelMask();
      return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, body, &mask), 0);
    pthread_join(thread, nullptr);
    EXPECT_EQ(mask, BitOf(SIGUSR1));
  });
}

TEST(LibcSignalsTest, FaultsAreHandledAsTheBackEndSays) {
  for (const int fault : {SIGSEGV, SIGBUS}) {
    InChild([=] {
      SetHooks();
      Engine* engine = TheEngine();
      struct sigaction action = {}, previous;
      action.sa_handler = NoteMask;
      action.sa_flags = SA_NODEFER;
      EXPECT_EQ(sigaction(fault, &action, &previous), 0);
      EXPECT_EQ(engine->acted, fault);
      EXPECT_EQ(engine->action.sa_flags, SA_NODEFER);
      EXPECT_EQ(sigaction(fault, nullptr, &previous), 0);
      EXPECT_EQ(previous.sa_handler, NoteMask);

      EXPECT_EQ(signal(fault, SIG_IGN), NoteMask);
      EXPECT_EQ(engine->action.sa_flags, SA_RESTART);
      EXPECT_TRUE(sigismember(&engine->action.sa_mask, fault));
      EXPECT_EQ(siginterrupt(fault, 1), 0);
      EXPECT_EQ(engine->action.sa_flags, 0);
      EXPECT_EQ(siginterrupt(fault, 0), 0);
      EXPECT_EQ(engine->action.sa_flags, SA_RESTART);
      EXPECT_EQ(bsd_signal(fault, NoteMask), SIG_IGN);
      EXPECT_EQ(ssignal(fault, SIG_IGN), NoteMask);
      EXPECT_EQ(sysv_signal(fault, NoteMask), SIG_IGN);
      EXPECT_EQ(engine->action.sa_flags, static_cast<int>(SA_RESETHAND | SA_NODEFER));
      EXPECT_EQ(__sysv_signal(fault, SIG_DFL), NoteMask);
      EXPECT_EQ(sigset(fault, NoteMask), SIG_DFL);
      EXPECT_EQ(sigignore(fault), 0);
      EXPECT_EQ(engine->action.sa_handler, SIG_IGN);
      EXPECT_EQ(signal(fault, SIG_ERR), SIG_ERR);
      EXPECT_EQ(errno, EINVAL);

      // The kernel's action is the back end's.
      const auto next =
          reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(engine->next_sigaction);
      EXPECT_EQ(next(fault, nullptr, &previous), 0);
      EXPECT_EQ(previous.sa_handler, SIG_DFL);
    });
  }
}

TEST(LibcSignalsTest, OtherSignalsAreHandledAsEver) {
  InChild([] {
    SetHooks();
    constexpr HandlerFunction kFunctions[] = {signal, ssignal, bsd_signal, sysv_signal, __sysv_signal, sigset};
    for (const HandlerFunction set : kFunctions) {
      signal(SIGUSR1, SIG_DFL);
      EXPECT_EQ(set(SIGUSR1, NoteMask), SIG_DFL);
      mask_in_handler = 0;
      raise(SIGUSR1);
      EXPECT_EQ(mask_in_handler & ~BitOf(SIGUSR1), 0u);
    }
    EXPECT_EQ(sigignore(SIGUSR1), 0);
    raise(SIGUSR1);
    EXPECT_EQ(siginterrupt(SIGUSR1, 1), 0);
    EXPECT_EQ(TheEngine()->acted, 0);
  });
}

TEST(LibcSignalsTest, EveryCallThatMasksIsTested) {
  std::set<std::string> tested = {"pthread_attr_setsigmask_np"};
  for (const auto& wait : kMaskedWaits) tested.insert(wait.name);
#define NAME(name, ...) #name,
  for (const char* name : {COPSE_LIBC_MASKED_CALLS(NAME)}) EXPECT_EQ(tested.count(name), 1u) << name;
#undef NAME
}

}  // namespace
}  // namespace copse::preload
