// SPDX-License-Identifier: Apache-2.0
//
// SIGSEGV is never blocked, since an access to memory that is pending while it is would end the program. The program is
// told what it would be told without us: that it blocked the signal is kept here. How it handles SIGSEGV and SIGBUS is
// the back end's to know.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "client/mpi/libc_next.h"
#include "client/mpi/libc_wrapped.h"

namespace copse::mpi {
namespace {

using ActCall = int(int, const struct sigaction*, struct sigaction*);
using HandlerCall = SignalHandler(int, SignalHandler);
using MaskCall = int(int, const sigset_t*, sigset_t*);
using SignalCall = int(int);

constexpr int kSignalMax = 64;
// SIGSEGV in an int, as sigblock() has masks.
constexpr int kFaultBit = 1 << (SIGSEGV - 1);

// Whether this thread believes that it blocks SIGSEGV. Initial-exec: signal handlers ask, and must not meet an
// allocation.
constinit thread_local bool believes_blocked __attribute__((tls_model("initial-exec"))) = false;
// The signals, by bit, whose handlers the program believes to block SIGSEGV.
constinit std::atomic<uint64_t> believes_handlers_block = 0;

bool IsFault(int signal) { return signal == SIGSEGV || signal == SIGBUS; }
bool Has(const sigset_t* set) { return set != nullptr && sigismember(set, SIGSEGV) == 1; }

sigset_t Only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

uint64_t BitOf(int signal) { return signal >= 1 && signal <= kSignalMax ? uint64_t{1} << (signal - 1) : 0; }

void NoteHandlerBlocks(int signal, bool blocks) {
  if (blocks) {
    believes_handlers_block.fetch_or(BitOf(signal), std::memory_order_relaxed);
  } else {
    believes_handlers_block.fetch_and(~BitOf(signal), std::memory_order_relaxed);
  }
}

bool HandlerBlocks(int signal) {
  return (believes_handlers_block.load(std::memory_order_relaxed) & BitOf(signal)) != 0;
}

void NoteBlocked(int how, bool has) {
  if (how == SIG_SETMASK) {
    believes_blocked = has;
  } else if (has) {
    believes_blocked = how == SIG_BLOCK;
  }
}

int ActOnFault(int signal, const struct sigaction* action, struct sigaction* previous) {
  return the_memory_hooks.load(std::memory_order_acquire)->act_on_fault(signal, action, previous);
}

// As signal() and its kin: returns the handler before.
SignalHandler HandleFault(int signal, SignalHandler handler, sigset_t mask, int flags) {
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {}, previous = {};
  action.sa_handler = handler;
  action.sa_mask = mask;
  action.sa_flags = flags;
  return ActOnFault(signal, &action, &previous) == 0 ? previous.sa_handler : SIG_ERR;
}

SignalHandler SetHandler(LibcCall call, int signal, SignalHandler handler, sigset_t mask, int flags) {
  if (IsFault(signal)) return HandleFault(signal, handler, mask, flags);
  NoteHandlerBlocks(signal, false);
  return Next<HandlerCall>(call)(signal, handler);
}

SignalHandler BsdSignal(LibcCall call, int signal, SignalHandler handler) {
  return SetHandler(call, signal, handler, Only(signal), SA_RESTART);
}

SignalHandler SysvSignal(LibcCall call, int signal, SignalHandler handler) {
  return SetHandler(call, signal, handler, {}, static_cast<int>(SA_RESETHAND | SA_NODEFER));
}

int ChangeMask(LibcCall call, int how, const sigset_t* set, sigset_t* previous) {
  const bool has = Has(set), believed = believes_blocked, changes = set != nullptr;
  sigset_t room;
  const sigset_t* kept = how == SIG_UNBLOCK ? set : WithoutFaultSignal(set, &room);
  const int result = Next<MaskCall>(call)(how, kept, previous);
  if (result != 0) return result;
  if (changes) NoteBlocked(how, has);
  if (believed && previous != nullptr) sigaddset(previous, SIGSEGV);
  return 0;
}

int ChangeIntMask(LibcCall call, int how, int mask) {
  const bool believed = believes_blocked;
  const int previous = Next<SignalCall>(call)(mask & ~kFaultBit);
  NoteBlocked(how, (mask & kFaultBit) != 0);
  return believed ? previous | kFaultBit : previous;
}

int ChangeOne(LibcCall call, int how, int signal) {
  if (signal != SIGSEGV) return Next<SignalCall>(call)(signal);
  const sigset_t set = Only(signal);
  return wrapped::sigprocmask(how, &set, nullptr);
}

}  // namespace

const sigset_t* WithoutFaultSignal(const sigset_t* set, sigset_t* room) {
  if (!Has(set)) return set;
  *room = *set;
  sigdelset(room, SIGSEGV);
  return room;
}

void FreeFaultSignal() {
  sigset_t previous;
  const sigset_t set = Only(SIGSEGV);
  if (Next<MaskCall>(LibcCall::sigprocmask)(SIG_UNBLOCK, &set, &previous) == 0) believes_blocked = Has(&previous);
  for (int signal = 1; signal <= kSignalMax; ++signal) {
    struct sigaction action;
    if (IsFault(signal) || Next<ActCall>(LibcCall::sigaction)(signal, nullptr, &action) != 0) continue;
    if (Has(&action.sa_mask)) wrapped::sigaction(signal, &action, nullptr);
  }
}

namespace wrapped {

int sigaction(int signal, const struct sigaction* action, struct sigaction* previous) {
  if (IsFault(signal)) return ActOnFault(signal, action, previous);
  const bool blocks = action != nullptr && Has(&action->sa_mask), changes = action != nullptr;
  const bool blocked = HandlerBlocks(signal);
  struct sigaction changed;
  if (blocks) {
    changed = *action;
    sigdelset(&changed.sa_mask, SIGSEGV);
  }
  const int result = Next<ActCall>(LibcCall::sigaction)(signal, blocks ? &changed : action, previous);
  if (result != 0) return result;
  if (changes) NoteHandlerBlocks(signal, blocks);
  if (blocked && previous != nullptr) sigaddset(&previous->sa_mask, SIGSEGV);
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
  if (!IsFault(signal)) return SetHandler(LibcCall::sigset, signal, handler, {}, 0);
  const bool holds = handler == SIG_HOLD;
  struct sigaction previous = {};
  if (holds) {
    ActOnFault(signal, nullptr, &previous);
  } else {
    previous.sa_handler = HandleFault(signal, handler, {}, 0);
    if (previous.sa_handler == SIG_ERR) return SIG_ERR;
  }
  const sigset_t set = Only(signal);
  sigset_t blocked;
  wrapped::sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &set, &blocked);
  return sigismember(&blocked, signal) == 1 ? SIG_HOLD : previous.sa_handler;
}

int sigignore(int signal) {
  if (IsFault(signal)) return HandleFault(signal, SIG_IGN, {}, 0) == SIG_ERR ? -1 : 0;
  NoteHandlerBlocks(signal, false);
  return Next<SignalCall>(LibcCall::sigignore)(signal);
}

int siginterrupt(int signal, int interrupts) {
  if (!IsFault(signal)) return Next<int(int, int)>(LibcCall::siginterrupt)(signal, interrupts);
  struct sigaction action;
  if (ActOnFault(signal, nullptr, &action) != 0) return -1;
  action.sa_flags = interrupts != 0 ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  return ActOnFault(signal, &action, nullptr);
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
  return believes_blocked ? mask | kFaultBit : mask;
}

int sighold(int signal) { return ChangeOne(LibcCall::sighold, SIG_BLOCK, signal); }
int sigrelse(int signal) { return ChangeOne(LibcCall::sigrelse, SIG_UNBLOCK, signal); }
int sigpause(int mask) { return Next<SignalCall>(LibcCall::sigpause)(mask & ~kFaultBit); }

}  // namespace wrapped
}  // namespace copse::mpi
