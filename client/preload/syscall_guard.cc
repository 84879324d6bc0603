// SPDX-License-Identifier: Apache-2.0
#include "client/preload/syscall_guard.h"

#include "client/preload/libc_next.h"
#include "client/preload/libc_wrapped.h"

#if defined(__x86_64__)

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "client/preload/syscall_memory.h"
#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/kept_action.h"

// syscall_stub.S defines these.
extern "C" {
__attribute__((visibility("hidden"))) extern const char copse_preload_syscall_begin[];
__attribute__((visibility("hidden"))) extern const char copse_preload_syscall_end[];
__attribute__((visibility("hidden"))) long copse_preload_syscall(long, long, long, long, long, long, long);
__attribute__((visibility("hidden"))) void copse_preload_redo_syscall();
__attribute__((visibility("hidden"))) void copse_preload_redo_sigreturn();
__attribute__((visibility("hidden"))) void copse_preload_restore_signal();
}

namespace copse::preload {
namespace {

// Older headers lack these constants of linux/prctl.h and asm-generic/siginfo.h.
constexpr long kSetDispatch = 59, kDispatchOff = 0, kDispatchOn = 1;
constexpr int kUserDispatch = 2;
constexpr int kSeccomp = 1;
constexpr uint8_t kAllow = 0;

// The kernel reads this before each system call of a guarded thread.
constinit std::atomic<uint8_t> selector = kAllow;
constinit bool is_started = false;
constinit pthread_key_t end_of_thread = 0;

// Signal handlers read these, so none may be allocated at its first use.
#define COPSE_PRELOAD_OF_THREAD thread_local __attribute__((tls_model("initial-exec")))
constinit COPSE_PRELOAD_OF_THREAD bool is_guarded = false;
// `depth` counts nested scopes in which the thread's system calls are not to be stopped. `off_since` is the depth at
// which the thread has turned its Syscall User Dispatch off; 0: no scope has.
constinit COPSE_PRELOAD_OF_THREAD int depth = 0;
constinit COPSE_PRELOAD_OF_THREAD int off_since = 0;
#undef COPSE_PRELOAD_OF_THREAD

using tnbc::Free;

long SetDispatch(bool on) {
  if (!on) return Free(SYS_prctl, kSetDispatch, kDispatchOff, 0, 0, 0);
  return Free(SYS_prctl, kSetDispatch, kDispatchOn, copse_preload_syscall_begin,
              copse_preload_syscall_end - copse_preload_syscall_begin, &selector);
}

// In this order a signal handler may call Leave and Enter between any two steps.
void Leave(bool always) {
  ++depth;
  if (!is_guarded || off_since != 0 || (!always && selector.load(std::memory_order_relaxed) == kAllow)) return;
  off_since = depth;
  SetDispatch(false);
}

void Enter() {
  if (off_since == depth) {
    if (is_guarded) SetDispatch(true);
    off_since = 0;
  }
  --depth;
}

// The thread calls it before libc blocks all signals at its end.
void EndThread(void*) {
  is_guarded = false;
  SetDispatch(false);
}

// It is called in a child of fork, which the kernel does not guard, and where nothing is pending.
void ForgetInChild() {
  is_guarded = false;
  selector.store(kAllow, std::memory_order_relaxed);
}

bool GuardThread() {
  if (SetDispatch(true) != 0) return false;
  is_guarded = true;
  pthread_setspecific(end_of_thread, &selector);
  return true;
}

// --- The handler ---

// KernelAction is struct sigaction as rt_sigaction takes it, which differs from libc's.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};
constexpr unsigned long kHasRestorer = 0x04000000;
constexpr size_t kMaskBytes = sizeof(uint64_t);

constinit tnbc::KeptAction action_of_program = nullptr;

// Does what rt_sigprocmask does, on the mask that the handler's return restores, except that guarded signals stay
// unblocked.
long ChangeMask(const long arguments[6], ucontext_t* context) {
  const auto* set = reinterpret_cast<const uint64_t*>(arguments[1]);  // NOLINT: of the program
  auto* previous = reinterpret_cast<uint64_t*>(arguments[2]);         // NOLINT: of the program
  if (arguments[3] != static_cast<long>(kMaskBytes)) return -EINVAL;
  uint64_t mask, change = 0;
  memcpy(&mask, &context->uc_sigmask, kMaskBytes);
  const uint64_t before = mask;
  if (set != nullptr) {
    Await(set, kMaskBytes);
    if (!CopyIn(set, &change, kMaskBytes, copse_preload_syscall)) return -EFAULT;
    change &= ~GuardedSignals();
    switch (static_cast<int>(arguments[0])) {
      case SIG_BLOCK:
        mask |= change;
        break;
      case SIG_UNBLOCK:
        mask &= ~change;
        break;
      case SIG_SETMASK:
        mask = change;
        break;
      default:
        return -EINVAL;
    }
  }
  memcpy(&context->uc_sigmask, &mask, kMaskBytes);
  if (previous == nullptr) return 0;
  Await(previous, kMaskBytes);
  return CopyOut(previous, &before, kMaskBytes, copse_preload_syscall) ? 0 : -EFAULT;
}

// Makes the thread continue at `at` after the handler, with its registers as they were.
void GoOn(greg_t* registers, void (*at)()) { registers[REG_RIP] = reinterpret_cast<greg_t>(at); }

// Makes the stub issue the call, with the return address stored below the stack's red zone.
void Redo(greg_t* registers) {
  constexpr greg_t kRedZoneBytes = 128;
  const greg_t back = registers[REG_RIP];
  registers[REG_RSP] -= kRedZoneBytes + static_cast<greg_t>(sizeof(back));
  memcpy(reinterpret_cast<void*>(registers[REG_RSP]), &back, sizeof(back));  // NOLINT: the program's stack
  GoOn(registers, copse_preload_redo_syscall);
}

// Restarts the call at its own instruction; while nothing is pending it is not stopped again.
void StartOver(greg_t* registers) {
  constexpr greg_t kInstructionBytes = 2;
  AwaitAll();
  registers[REG_RIP] -= kInstructionBytes;
}

// fork, clone and exec, which return twice or never, are restarted at their own instruction once nothing is pending,
// since they copy, share or end the memory as a whole. rt_sigreturn finds its frame by the stack pointer, so the stub
// makes it with the stack as it is. rt_sigprocmask changes the mask that the handler's return restores. All other calls
// wait for the memory that they access.
void GoOnWith(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const long number = registers[REG_RAX];
  const long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                             registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  switch (number) {
    case SYS_rt_sigreturn:
      return GoOn(registers, copse_preload_redo_sigreturn);
    case SYS_rt_sigprocmask:
      registers[REG_RAX] = ChangeMask(arguments, context);
      return;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_execve:
    case SYS_execveat:
      return StartOver(registers);
    default:
      AwaitSyscallMemory(number, arguments, copse_preload_syscall);
      return Redo(registers);
  }
}

// Handles a SIGSYS of another origin as it would be without the guard.
void Chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction* action = action_of_program.load(std::memory_order_acquire);  // pairs with ReplaceAction
  const bool is_default = action == nullptr || action->sa_handler == SIG_DFL;
  const bool is_ignored = action != nullptr && action->sa_handler == SIG_IGN;
  if (is_ignored && info->si_code != kSeccomp) return;
  if (is_default || is_ignored) {
    const KernelAction none = {};
    Free(SYS_rt_sigaction, signal, &none, 0L, kMaskBytes);
    Free(SYS_tgkill, Free(SYS_getpid), Free(SYS_gettid), signal);
  } else if ((action->sa_flags & SA_SIGINFO) != 0) {
    action->sa_sigaction(signal, info, context);
  } else {
    action->sa_handler(signal);
  }
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code == kUserDispatch) {
    GoOnWith(static_cast<ucontext_t*>(context));
  } else {
    Chain(signal, info, context);
  }
  errno = error;
}

const SyscallGuard the_guard = {&selector, copse_preload_syscall, Leave, Enter};

// --- Threads ---

struct Start {
  void* (*run)(void*);
  void* argument;
};

void* RunGuarded(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  free(argument);
  GuardThread();
  return start.run(start.argument);
}

}  // namespace

const SyscallGuard* TheSyscallGuard() { return is_started ? &the_guard : nullptr; }

const char* StartSyscallGuard() {
  if (is_started) return nullptr;
  tnbc::the_free_syscall = copse_preload_syscall;
  if (pthread_key_create(&end_of_thread, EndThread) != 0) return "no room for one more of threads' own keys";
  if (!GuardThread()) return "the kernel has no Syscall User Dispatch, or does not allow it";
  struct sigaction before;
  if (Next<int(int, const struct sigaction*, struct sigaction*)>(LibcCall::sigaction)(SIGSYS, nullptr, &before) == 0) {
    ActOnSyscallSignal(SIGSYS, &before, nullptr);
  }
  const KernelAction action = {OnSignal, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | kHasRestorer,
                               copse_preload_restore_signal, 0};
  Free(SYS_rt_sigaction, SIGSYS, &action, 0L, kMaskBytes);
  pthread_atfork(nullptr, nullptr, ForgetInChild);
  is_started = true;
  return nullptr;
}

int ActOnSyscallSignal(int, const struct sigaction* next, struct sigaction* previous) {
  return tnbc::ReplaceAction(&action_of_program, next, previous);
}

OffGuard::OffGuard() { Leave(/*always=*/true); }
OffGuard::~OffGuard() { Enter(); }

namespace wrapped {

// A new thread is guarded if its creator is, unless the creator is within an OffGuard, as MPI's and the library's code
// is: the threads that these start are not guarded.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  BeforeThread();
  const auto create = Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(LibcCall::pthread_create);
  if (!is_started) return create(thread, attributes, run, argument);
  const bool follows = is_guarded && depth == 0;
  const OffGuard off;
  if (!follows) return create(thread, attributes, run, argument);
  auto* start = static_cast<Start*>(malloc(sizeof(Start)));
  if (start == nullptr) return EAGAIN;
  *start = {run, argument};
  const int error = create(thread, attributes, RunGuarded, start);
  if (error != 0) free(start);
  return error;
}

}  // namespace wrapped
}  // namespace copse::preload

#else

namespace copse::preload {

const SyscallGuard* TheSyscallGuard() { return nullptr; }
const char* StartSyscallGuard() { return "it is for x86-64 only"; }
int ActOnSyscallSignal(int, const struct sigaction*, struct sigaction*) { return -1; }
OffGuard::OffGuard() {}
OffGuard::~OffGuard() {}

namespace wrapped {
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  BeforeThread();
  return Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(LibcCall::pthread_create)(
      thread, attributes, run, argument);
}
}  // namespace wrapped
}  // namespace copse::preload

#endif
