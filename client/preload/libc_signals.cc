// SPDX-License-Identifier: Apache-2.0
//
// Keeps SIGSEGV unblocked, since an access to pending memory would end the program while it is blocked; also SIGSYS, if
// it stops system calls. The program sees the masks that it would see without the preload; they are kept here. The back
// end keeps the program's actions for SIGSEGV and SIGBUS, and the guard of system calls the one for SIGSYS.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "client/preload/libc_next.h"
#include "client/preload/libc_wrapped.h"
#include "client/preload/syscall_guard.h"

namespace copse::preload {
namespace {

using ActCall = int(int, const struct sigaction*, struct sigaction*);
using HandlerCall = SignalHandler(int, SignalHandler);
using MaskCall = int(int, const sigset_t*, sigset_t*);
using SignalCall = int(int);

constexpr int kSignalMax = 64;

uint64_t BitOf(int signal) { return signal >= 1 && signal <= kSignalMax ? uint64_t{1} << (signal - 1) : 0; }

// These are the guarded signals that this thread has blocked, as the program sees it. The variable is initial-exec,
// since signal handlers read it and must not allocate it.
constinit thread_local uint64_t believes_blocked __attribute__((tls_model("initial-exec"))) = 0;
// These are the signals, by bit, with handlers that block SIGSEGV, or SIGSYS, as the program sees it.
constinit std::atomic<uint64_t> handlers_block_fault = 0;
constinit std::atomic<uint64_t> handlers_block_syscall = 0;

bool IsOurs(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || (signal == SIGSYS && TheSyscallGuard() != nullptr);
}

// Returns the guarded signals of the set, by bit.
uint64_t GuardedOf(const sigset_t* set) {
  if (set == nullptr) return 0;
  uint64_t bits;
  memcpy(&bits, set, sizeof(bits));
  return bits & GuardedSignals();
}
void Add(uint64_t signals, sigset_t* set) {
  uint64_t bits;
  memcpy(&bits, set, sizeof(bits));
  bits |= signals;
  memcpy(set, &bits, sizeof(bits));
}
void Remove(uint64_t signals, sigset_t* set) {
  uint64_t bits;
  memcpy(&bits, set, sizeof(bits));
  bits &= ~signals;
  memcpy(set, &bits, sizeof(bits));
}

sigset_t Only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

void Note(std::atomic<uint64_t>* handlers, int signal, bool blocks) {
  if (blocks) {
    handlers->fetch_or(BitOf(signal), std::memory_order_relaxed);
  } else {
    handlers->fetch_and(~BitOf(signal), std::memory_order_relaxed);
  }
}
void NoteHandlerBlocks(int signal, uint64_t blocked) {
  Note(&handlers_block_fault, signal, (blocked & BitOf(SIGSEGV)) != 0);
  Note(&handlers_block_syscall, signal, (blocked & BitOf(SIGSYS)) != 0);
}

// Returns the guarded signals that the signal's handler blocks, as the program sees it.
uint64_t HandlerBlocks(int signal) {
  const uint64_t bit = BitOf(signal);
  return ((handlers_block_fault.load(std::memory_order_relaxed) & bit) != 0 ? BitOf(SIGSEGV) : 0) |
         ((handlers_block_syscall.load(std::memory_order_relaxed) & bit) != 0 ? BitOf(SIGSYS) : 0);
}

void NoteBlocked(int how, uint64_t signals) {
  switch (how) {
    case SIG_SETMASK:
      believes_blocked = signals;
      return;
    case SIG_BLOCK:
      believes_blocked |= signals;
      return;
    default:
      believes_blocked &= ~signals;
  }
}

// Does what sigaction() does for a signal that IsOurs, on the program's action.
int ActOn(int signal, const struct sigaction* action, struct sigaction* previous) {
  if (signal == SIGSYS) return ActOnSyscallSignal(signal, action, previous);
  return TheMemoryHooks()->act_on_fault(signal, action, previous);
}

// Does what signal() and similar functions do for a signal that IsOurs. Returns the previous handler, or SIG_ERR.
SignalHandler HandleOurs(int signal, SignalHandler handler, sigset_t mask, int flags) {
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {}, previous = {};
  action.sa_handler = handler;
  action.sa_mask = mask;
  action.sa_flags = flags;
  return ActOn(signal, &action, &previous) == 0 ? previous.sa_handler : SIG_ERR;
}

SignalHandler SetHandler(LibcCall call, int signal, SignalHandler handler, sigset_t mask, int flags) {
  if (IsOurs(signal)) return HandleOurs(signal, handler, mask, flags);
  NoteHandlerBlocks(signal, 0);
  return Next<HandlerCall>(call)(signal, handler);
}

SignalHandler BsdSignal(LibcCall call, int signal, SignalHandler handler) {
  return SetHandler(call, signal, handler, Only(signal), SA_RESTART);
}

SignalHandler SysvSignal(LibcCall call, int signal, SignalHandler handler) {
  return SetHandler(call, signal, handler, {}, static_cast<int>(SA_RESETHAND | SA_NODEFER));
}

int ChangeMask(LibcCall call, int how, const sigset_t* set, sigset_t* previous) {
  const uint64_t signals = GuardedOf(set), believed = believes_blocked;
  const bool changes = set != nullptr;
  sigset_t room;
  const sigset_t* kept = how == SIG_UNBLOCK ? set : WithoutGuarded(set, &room);
  const int result = Next<MaskCall>(call)(how, kept, previous);
  if (result != 0) return result;
  if (changes) NoteBlocked(how, signals);
  if (previous != nullptr) Add(believed, previous);
  return 0;
}

// Returns the signals as a mask of sigblock().
int IntOf(uint64_t signals) { return static_cast<int>(signals); }

int ChangeIntMask(LibcCall call, int how, int mask) {
  const uint64_t believed = believes_blocked, signals = static_cast<unsigned>(mask) & GuardedSignals();
  const int previous = Next<SignalCall>(call)(mask & ~IntOf(signals));
  NoteBlocked(how, signals);
  return previous | IntOf(believed);
}

int ChangeOne(LibcCall call, int how, int signal) {
  if ((BitOf(signal) & GuardedSignals()) == 0) return Next<SignalCall>(call)(signal);
  const sigset_t set = Only(signal);
  return wrapped::sigprocmask(how, &set, nullptr);
}

}  // namespace

uint64_t GuardedSignals() { return BitOf(SIGSEGV) | (TheSyscallGuard() != nullptr ? BitOf(SIGSYS) : 0); }

const sigset_t* WithoutGuarded(const sigset_t* set, sigset_t* room) {
  if (GuardedOf(set) == 0) return set;
  *room = *set;
  Remove(GuardedSignals(), room);
  return room;
}

void FreeGuardedSignals() {
  sigset_t previous, set;
  sigemptyset(&set);
  Add(GuardedSignals(), &set);
  if (Next<MaskCall>(LibcCall::sigprocmask)(SIG_UNBLOCK, &set, &previous) == 0) {
    NoteBlocked(SIG_BLOCK, GuardedOf(&previous));
  }
  for (int signal = 1; signal <= kSignalMax; ++signal) {
    struct sigaction action;
    if (IsOurs(signal) || Next<ActCall>(LibcCall::sigaction)(signal, nullptr, &action) != 0) continue;
    if (GuardedOf(&action.sa_mask) != 0) wrapped::sigaction(signal, &action, nullptr);
  }
}

namespace wrapped {

int sigaction(int signal, const struct sigaction* action, struct sigaction* previous) {
  if (IsOurs(signal)) return ActOn(signal, action, previous);
  const uint64_t blocks = action != nullptr ? GuardedOf(&action->sa_mask) : 0, blocked = HandlerBlocks(signal);
  const bool changes = action != nullptr;
  struct sigaction changed;
  if (blocks != 0) {
    changed = *action;
    Remove(blocks, &changed.sa_mask);
  }
  const int result = Next<ActCall>(LibcCall::sigaction)(signal, blocks != 0 ? &changed : action, previous);
  if (result != 0) return result;
  if (changes) NoteHandlerBlocks(signal, blocks);
  if (previous != nullptr) Add(blocked, &previous->sa_mask);
  return 0;
}

SignalHandler signal(int signal, SignalHandler handler) { return BsdSignal(LibcCall::signal, signal, handler); }
SignalHandler ssignal(int signal, SignalHandler handler) { return BsdSignal(LibcCall::ssignal, signal, handler); }
SignalHandler bsd_signal(int signal, SignalHandler handler) { return BsdSignal(LibcCall::bsd_signal, signal, handler); }
SignalHandler sysv_signal(int signal, SignalHandler handler) {
  return SysvSignal(LibcCall::sysv_signal, signal, handler);
}
SignalHandler __sysv_signal(int signal, SignalHandler handler) {
  return SysvSignal(LibcCall::__sysv_signal, signal, handler);
}

SignalHandler sigset(int signal, SignalHandler handler) {
  if (!IsOurs(signal)) return SetHandler(LibcCall::sigset, signal, handler, {}, 0);
  const bool holds = handler == SIG_HOLD;
  struct sigaction previous = {};
  if (holds) {
    ActOn(signal, nullptr, &previous);
  } else {
    previous.sa_handler = HandleOurs(signal, handler, {}, 0);
    if (previous.sa_handler == SIG_ERR) return SIG_ERR;
  }
  const sigset_t set = Only(signal);
  sigset_t blocked;
  wrapped::sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &set, &blocked);
  return sigismember(&blocked, signal) == 1 ? SIG_HOLD : previous.sa_handler;
}

int sigignore(int signal) {
  if (IsOurs(signal)) return HandleOurs(signal, SIG_IGN, {}, 0) == SIG_ERR ? -1 : 0;
  NoteHandlerBlocks(signal, 0);
  return Next<SignalCall>(LibcCall::sigignore)(signal);
}

int siginterrupt(int signal, int interrupts) {
  if (!IsOurs(signal)) return Next<int(int, int)>(LibcCall::siginterrupt)(signal, interrupts);
  struct sigaction action;
  if (ActOn(signal, nullptr, &action) != 0) return -1;
  action.sa_flags = interrupts != 0 ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  return ActOn(signal, &action, nullptr);
}

int sigprocmask(int how, const sigset_t* set, sigset_t* previous) {
  return ChangeMask(LibcCall::sigprocmask, how, set, previous);
}
int pthread_sigmask(int how, const sigset_t* set, sigset_t* previous) {
  return ChangeMask(LibcCall::pthread_sigmask, how, set, previous);
}

int sigblock(int mask) { return ChangeIntMask(LibcCall::sigblock, SIG_BLOCK, mask); }
int sigsetmask(int mask) { return ChangeIntMask(LibcCall::sigsetmask, SIG_SETMASK, mask); }
int siggetmask() {
  const int mask = Next<int()>(LibcCall::siggetmask)();
  return mask | IntOf(believes_blocked);
}

int sighold(int signal) { return ChangeOne(LibcCall::sighold, SIG_BLOCK, signal); }
int sigrelse(int signal) { return ChangeOne(LibcCall::sigrelse, SIG_UNBLOCK, signal); }
int sigpause(int mask) { return Next<SignalCall>(LibcCall::sigpause)(mask & ~IntOf(GuardedSignals())); }

}  // namespace wrapped
}  // namespace copse::preload
