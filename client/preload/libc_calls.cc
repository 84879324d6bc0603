// SPDX-License-Identifier: Apache-2.0
//
// Where the intercepted functions of libc lead: straight to what the program would call without us, and to wrappers
// once a back end has set its hooks.
#include <dlfcn.h>
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

// Functions of libc that its headers show to some programs only; and libaio's.
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

// trampolines.S: where each leads.
extern "C" __attribute__((visibility("hidden"))) void* copse_libc_slots[];

namespace copse::preload {

constinit std::atomic<const MemoryHooks*> the_memory_hooks = nullptr;

namespace {

constinit std::atomic<void*> next_calls[kLibcCallCount] = {};
// This thread is in the dynamic linker for us, which may free what its last error left.
constinit thread_local bool is_resolving __attribute__((tls_model("initial-exec"))) = false;

constexpr const char* kNames[] = {
#define COPSE_PRELOAD_NAME(name, ...) #name,
    COPSE_LIBC_CALLS(COPSE_PRELOAD_NAME)
#undef COPSE_PRELOAD_NAME
};

// --- Wrappers ---

template <LibcCall kCall, typename Function, typename Touched>
struct OfMemory;
template <LibcCall kCall, typename Result, typename... Arguments, bool kIsNoexcept, typename Touched>
struct OfMemory<kCall, Result(Arguments...) noexcept(kIsNoexcept), Touched> {
  static Result Run(Arguments... arguments) {
    if (IsAnythingPending()) Touched::AwaitIt(arguments...);
    if constexpr (requires { Touched::ReleaseIt(arguments...); }) {
      if (IsAnythingAdopted()) Touched::ReleaseIt(arguments...);
    }
    return Next<Result(Arguments...)>(kCall)(arguments...);
  }
};

template <LibcCall kCall, typename Function, int kMask>
struct OfMask;
template <LibcCall kCall, typename Result, typename... Arguments, bool kIsNoexcept, int kMask>
struct OfMask<kCall, Result(Arguments...) noexcept(kIsNoexcept), kMask> {
  static Result Run(Arguments... arguments) {
    sigset_t room;
    std::get<kMask>(std::tie(arguments...)) = WithoutGuarded(Argument<kMask>(arguments...), &room);
    return Next<Result(Arguments...)>(kCall)(arguments...);
  }
};

template <LibcCall kCall, typename Function, typename Before>
struct OffGuardCall;
template <LibcCall kCall, typename Result, typename... Arguments, bool kIsNoexcept, typename Before>
struct OffGuardCall<kCall, Result(Arguments...) noexcept(kIsNoexcept), Before> {
  static Result Run(Arguments... arguments) {
    if (IsAnythingPending()) Before::AwaitIt(arguments...);
    if constexpr (requires { Before::ReleaseIt(arguments...); }) {
      if (IsAnythingAdopted()) Before::ReleaseIt(arguments...);
    }
    if (TheSyscallGuard() == nullptr) return Next<Result(Arguments...)>(kCall)(arguments...);
    const OffGuard off;
    return Next<Result(Arguments...)>(kCall)(arguments...);
  }
};

// In the list's order. Calls behind them have none: what their slots lead to at first stays (copse_resolve_libc).
void* const kWrappers[] = {
#define COPSE_PRELOAD_WRAPPED(name) reinterpret_cast<void*>(&wrapped::name),
#define COPSE_PRELOAD_OF_MEMORY(name, ...) \
  reinterpret_cast<void*>(&OfMemory<LibcCall::name, decltype(::name), __VA_ARGS__>::Run),
#define COPSE_PRELOAD_OF_MASK(name, mask) reinterpret_cast<void*>(&OfMask<LibcCall::name, decltype(::name), mask>::Run),
#define COPSE_PRELOAD_OFF_GUARD(name, ...) \
  reinterpret_cast<void*>(&OffGuardCall<LibcCall::name, decltype(::name), __VA_ARGS__>::Run),
    COPSE_LIBC_WRAPPED_CALLS(COPSE_PRELOAD_WRAPPED) COPSE_LIBC_MEMORY_CALLS(COPSE_PRELOAD_OF_MEMORY)
        COPSE_LIBC_MASKED_CALLS(COPSE_PRELOAD_OF_MASK) COPSE_LIBC_BLOCKING_CALLS(COPSE_PRELOAD_OFF_GUARD)
#undef COPSE_PRELOAD_WRAPPED
#undef COPSE_PRELOAD_OF_MEMORY
#undef COPSE_PRELOAD_OF_MASK
#undef COPSE_PRELOAD_OFF_GUARD
};
constexpr int kWrapperCount = sizeof(kWrappers) / sizeof(kWrappers[0]);

// --- Slots ---

intptr_t MissingCall() {
  errno = ENOSYS;
  return -1;
}

void LoseChunk(void*) {}

// Finds functions of libraries that only some programs have; such a library may be loaded where only its own users see
// it.
void* FindInLibraries(const char* name) {
  for (const char* library : {"libpthread.so.0", "librt.so.1", "libaio.so.1"}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* function = dlsym(handle, name);
    dlclose(handle);
    if (function != nullptr) return function;
  }
  return nullptr;
}

// Called by any thread, also by several at once. A wrapper that is in the slot already stays there.
void Resolve(int call) {
  if (next_calls[call].load(std::memory_order_relaxed) != nullptr) return;
  void*& slot = copse_libc_slots[call];
  void* first = __atomic_load_n(&slot, __ATOMIC_RELAXED);
  void* function = dlsym(RTLD_NEXT, kNames[call]);
  if (function == nullptr) return;
  next_calls[call].store(function, std::memory_order_release);
  if (call >= kWrapperCount) return;
  __atomic_compare_exchange_n(&slot, &first, function, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

// All at once, so that none is left to a signal handler.
void ResolveAll() {
  is_resolving = true;
  for (int call = 0; call < kLibcCallCount; ++call) Resolve(call);
  // The program must not see the error of what is missing.
  dlerror();
  is_resolving = false;
}

void* ResolveNow(int call) {
  if (void* function = next_calls[call].load(std::memory_order_acquire); function != nullptr) return function;
  if (is_resolving) {
    if (call == static_cast<int>(LibcCall::free)) return reinterpret_cast<void*>(&LoseChunk);
    Resolve(call);
  } else {
    ResolveAll();
  }
  if (void* function = next_calls[call].load(std::memory_order_acquire); function != nullptr) return function;
  void* function = FindInLibraries(kNames[call]);
  return function != nullptr ? function : reinterpret_cast<void*>(&MissingCall);
}

void* FindNext(const char* name) {
  if (strcmp(name, kKnownHeap) == 0) return KnownHeap();
  if (strcmp(name, kSyscallGuard) == 0) return const_cast<SyscallGuard*>(TheSyscallGuard());
  for (int call = 0; call < kLibcCallCount; ++call) {
    if (strcmp(kNames[call], name) == 0) return ResolveNow(call);
  }
  return nullptr;
}

}  // namespace

void* NextLibcCall(LibcCall call) { return ResolveNow(static_cast<int>(call)); }

void Await(const volatile void* address, size_t bytes) {
  if (bytes == 0) return;
  const size_t room = UINTPTR_MAX - reinterpret_cast<uintptr_t>(address);
  const int error = errno;
  the_memory_hooks.load(std::memory_order_acquire)
      ->await(const_cast<const void*>(address), bytes < room ? bytes : room);
  errno = error;
}

void AwaitAll() {
  const int error = errno;
  the_memory_hooks.load(std::memory_order_acquire)->await_all();
  errno = error;
}

void Release(const volatile void* address, size_t bytes, tnbc::MemoryEnd end) {
  const size_t room = UINTPTR_MAX - reinterpret_cast<uintptr_t>(address);
  const int error = errno;
  the_memory_hooks.load(std::memory_order_acquire)
      ->release(const_cast<const void*>(address), bytes < room ? bytes : room, end);
  errno = error;
}

void BeforeThread() {
  const MemoryHooks* hooks = the_memory_hooks.load(std::memory_order_acquire);
  if (hooks == nullptr || hooks->before_thread == nullptr) return;
  const int error = errno;
  hooks->before_thread();
  errno = error;
}

// Called by trampolines.S with a slot that leads nowhere else: at the first calls, and at each of those without a
// wrapper. Returns what to jump to.
extern "C" __attribute__((visibility("hidden"))) void* copse_resolve_libc(void** slot);
void* copse_resolve_libc(void** slot) {
  const int error = errno;
  const int call = static_cast<int>(slot - copse_libc_slots);
  void* function = ResolveNow(call);
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

// Where calls may return early, signals are guarded from the start: threads of before MPI_Init have their makers'
// masks. Nothing is pending as yet.
__attribute__((constructor)) void Begin() {
  ResolveAll();
  if (!Has("COPSE_TNBC", "on") && !Has("COPSE_TNBC", "auto")) return;
  if (Has("COPSE_TNBC_SYSCALLS", "strict")) StartSyscallGuard();
  static constinit std::atomic<uint32_t> pending = 0;
  static const MemoryHooks hooks = {&pending, [](const void*, size_t) {}, [] {}, ActByLibc};
  copse_preload_set_memory_hooks(&hooks);
}

}  // namespace

FindLibcCall copse_preload_set_memory_hooks(const MemoryHooks* hooks) {
  if (hooks == nullptr) return FindNext;
  ResolveAll();
  FindHeap();
  the_memory_hooks.store(hooks, std::memory_order_release);
  for (int call = 0; call < kWrapperCount; ++call) {
    __atomic_store_n(&copse_libc_slots[call], kWrappers[call], __ATOMIC_RELEASE);
  }
  FreeGuardedSignals();
  return FindNext;
}

}  // namespace copse::preload
