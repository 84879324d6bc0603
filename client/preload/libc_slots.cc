// SPDX-License-Identifier: Apache-2.0
//
// Makes the wrappers from the list of libc_calls.h, and puts them into the slots.
#include "client/preload/libc_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/preload/libc_next.h"
#include "client/preload/libc_wrapped.h"
#include "client/preload/syscall_guard.h"
#include "client/preload/touched_memory.h"

// glibc's headers declare the __*_chk functions only where _FORTIFY_SOURCE is set; io_submit is libaio's.
extern "C" {
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
int __ppoll_chk(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t);
int io_submit(aio_context_t, long, iocb**);
}

namespace copse::preload {
namespace {

// --- Wrappers ---

// Waits for the memory that a call accesses, and undoes its remapping where the call needs the program's own pages.
template <typename Touched>
void Prepare(const auto&... arguments) {
  if (IsAnythingPending()) Touched::AwaitIt(arguments...);
  if constexpr (requires { Touched::ReleaseIt(arguments...); }) {
    if (IsAnythingAdopted()) Touched::ReleaseIt(arguments...);
  }
}

template <LibcCall kCall, typename Function, typename Touched>
struct MemoryCall;
template <LibcCall kCall, typename Result, typename... Arguments, bool kIsNoexcept, typename Touched>
struct MemoryCall<kCall, Result(Arguments...) noexcept(kIsNoexcept), Touched> {
  static Result Run(Arguments... arguments) {
    Prepare<Touched>(arguments...);
    return Next<Result(Arguments...)>(kCall)(arguments...);
  }
};

template <LibcCall kCall, typename Function, int kMask>
struct MaskedCall;
template <LibcCall kCall, typename Result, typename... Arguments, bool kIsNoexcept, int kMask>
struct MaskedCall<kCall, Result(Arguments...) noexcept(kIsNoexcept), kMask> {
  static Result Run(Arguments... arguments) {
    sigset_t room;
    std::get<kMask>(std::tie(arguments...)) = WithoutGuarded(Argument<kMask>(arguments...), &room);
    return Next<Result(Arguments...)>(kCall)(arguments...);
  }
};

template <LibcCall kCall, typename Function, typename Touched>
struct BlockingCall;
template <LibcCall kCall, typename Result, typename... Arguments, bool kIsNoexcept, typename Touched>
struct BlockingCall<kCall, Result(Arguments...) noexcept(kIsNoexcept), Touched> {
  static Result Run(Arguments... arguments) {
    Prepare<Touched>(arguments...);
    if (TheSyscallGuard() == nullptr) return Next<Result(Arguments...)>(kCall)(arguments...);
    const OffGuard off;
    return Next<Result(Arguments...)>(kCall)(arguments...);
  }
};

// Wrappers in the list's order. The functions after them have none: their slots always lead to copse_resolve_libc.
void* const kWrappers[] = {
#define COPSE_PRELOAD_WRAPPED(name) reinterpret_cast<void*>(&wrapped::name),
#define COPSE_PRELOAD_MEMORY(name, ...) \
  reinterpret_cast<void*>(&MemoryCall<LibcCall::name, decltype(::name), __VA_ARGS__>::Run),
#define COPSE_PRELOAD_MASKED(name, mask) \
  reinterpret_cast<void*>(&MaskedCall<LibcCall::name, decltype(::name), mask>::Run),
#define COPSE_PRELOAD_BLOCKING(name, ...) \
  reinterpret_cast<void*>(&BlockingCall<LibcCall::name, decltype(::name), __VA_ARGS__>::Run),
    COPSE_LIBC_WRAPPED_CALLS(COPSE_PRELOAD_WRAPPED) COPSE_LIBC_MEMORY_CALLS(COPSE_PRELOAD_MEMORY)
        COPSE_LIBC_MASKED_CALLS(COPSE_PRELOAD_MASKED) COPSE_LIBC_BLOCKING_CALLS(COPSE_PRELOAD_BLOCKING)
#undef COPSE_PRELOAD_WRAPPED
#undef COPSE_PRELOAD_MEMORY
#undef COPSE_PRELOAD_MASKED
#undef COPSE_PRELOAD_BLOCKING
};
static_assert(sizeof(kWrappers) / sizeof(kWrappers[0]) == kWrapperCount);

void* FindNext(const char* name) {
  if (strcmp(name, kKnownHeap) == 0) return KnownHeap();
  if (strcmp(name, kSyscallGuard) == 0) return const_cast<SyscallGuard*>(TheSyscallGuard());
  return NextLibcCallNamed(name);
}

}  // namespace

// libc_trampolines.S calls it for a slot that still leads here: at the first call of a function, and at each call of
// one without a wrapper. Returns the function to jump to.
extern "C" __attribute__((visibility("hidden"))) void* copse_resolve_libc(void** slot);
void* copse_resolve_libc(void** slot) {
  const int error = errno;
  const auto call = static_cast<int>(slot - copse_libc_slots);
  void* function = NextLibcCall(static_cast<LibcCall>(call));
  if (call >= kWrapperCount && IsAnythingPending()) AwaitAll();
  errno = error;
  return function;
}

namespace {

bool Has(const char* name, const char* value) {
  const char* text = getenv(name);
  return text != nullptr && strcmp(text, value) == 0;
}

int ActByLibc(int signal, const struct sigaction* next, struct sigaction* previous) {
  return Next<int(int, const struct sigaction*, struct sigaction*)>(LibcCall::sigaction)(signal, next, previous);
}

// If calls may complete asynchronously, signals are guarded from the start, since threads created before MPI_Init
// inherit the masks of their creators. Nothing is pending yet.
__attribute__((constructor)) void Begin() {
  FindNextLibcCalls();
  if (!Has("COPSE_TNBC", "on") && !Has("COPSE_TNBC", "auto")) return;
  if (Has("COPSE_TNBC_SYSCALLS", "strict")) StartSyscallGuard();
  static constinit std::atomic<uint32_t> pending = 0;
  static const MemoryHooks hooks = {&pending, [](const void*, size_t) {}, [] {}, ActByLibc};
  copse_preload_set_memory_hooks(&hooks);
}

}  // namespace

FindLibcCall copse_preload_set_memory_hooks(const MemoryHooks* hooks) {
  if (hooks == nullptr) return FindNext;
  FindNextLibcCalls();
  FindHeap();
  the_memory_hooks.store(hooks, std::memory_order_release);  // pairs with TheMemoryHooks
  for (int call = 0; call < kWrapperCount; ++call) {
    __atomic_store_n(&copse_libc_slots[call], kWrappers[call], __ATOMIC_RELEASE);  // trampolines jump through it
  }
  FreeGuardedSignals();
  return FindNext;
}

}  // namespace copse::preload
