// SPDX-License-Identifier: Apache-2.0
#include "client/preload/libc_next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

namespace copse::preload {

constinit std::atomic<const MemoryHooks*> the_memory_hooks = nullptr;

namespace {

// These are stored with release and loaded with acquire, so that a thread that finds a function also sees the library's
// relocations.
constinit std::atomic<void*> next_calls[kLibcCallCount] = {};
// It is set while this thread calls dlsym(), which may call free() for the text of its latest error.
constinit thread_local bool is_resolving __attribute__((tls_model("initial-exec"))) = false;

constexpr const char* kNames[] = {
#define COPSE_PRELOAD_NAME(name, ...) #name,
    COPSE_LIBC_CALLS(COPSE_PRELOAD_NAME)
#undef COPSE_PRELOAD_NAME
};

intptr_t MissingCall() {
  errno = ENOSYS;
  return -1;
}

void LoseChunk(void*) {}

// Finds functions of libraries that only some programs load, perhaps such that only the libraries' own users see their
// symbols.
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

// Finds the next function and stores it in the slot, unless a wrapper is stored there meanwhile. Any thread may call
// this, also several at once.
void Resolve(int call) {
  if (next_calls[call].load(std::memory_order_relaxed) != nullptr) return;
  void*& slot = copse_libc_slots[call];
  // Acquire: pairs with copse_preload_set_memory_hooks, which sets the hooks before it stores wrappers.
  void* first = __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
  const bool has_wrappers = TheMemoryHooks() != nullptr;
  void* function = dlsym(RTLD_NEXT, kNames[call]);
  if (function == nullptr) return;
  next_calls[call].store(function, std::memory_order_release);  // pairs with Found
  // A function of a library that is loaded later keeps its wrapper.
  if (call >= kWrapperCount || has_wrappers) return;
  // Release: trampolines jump through the slot.
  __atomic_compare_exchange_n(&slot, &first, function, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

// Acquire: pairs with the release in Resolve.
void* Found(int call) { return next_calls[call].load(std::memory_order_acquire); }

void* ResolveNow(int call) {
  if (void* function = Found(call); function != nullptr) return function;
  if (is_resolving) {
    if (call == static_cast<int>(LibcCall::free)) return reinterpret_cast<void*>(&LoseChunk);
    Resolve(call);
  } else {
    FindNextLibcCalls();
  }
  if (void* function = Found(call); function != nullptr) return function;
  void* function = FindInLibraries(kNames[call]);
  return function != nullptr ? function : reinterpret_cast<void*>(&MissingCall);
}

// Returns `bytes`, or less if the range would wrap around.
size_t Within(const volatile void* address, size_t bytes) {
  const size_t room = UINTPTR_MAX - reinterpret_cast<uintptr_t>(address);
  return bytes < room ? bytes : room;
}

}  // namespace

void* NextLibcCall(LibcCall call) { return ResolveNow(static_cast<int>(call)); }

void* NextLibcCallNamed(const char* name) {
  for (int call = 0; call < kLibcCallCount; ++call) {
    if (strcmp(kNames[call], name) == 0) return ResolveNow(call);
  }
  return nullptr;
}

void FindNextLibcCalls() {
  is_resolving = true;
  for (int call = 0; call < kLibcCallCount; ++call) Resolve(call);
  // The program must not see the error of a function that is missing.
  dlerror();
  is_resolving = false;
}

void Await(const volatile void* address, size_t bytes) {
  if (bytes == 0) return;
  const int error = errno;
  TheMemoryHooks()->await(const_cast<const void*>(address), Within(address, bytes));
  errno = error;
}

void AwaitAll() {
  const int error = errno;
  TheMemoryHooks()->await_all();
  errno = error;
}

void Release(const volatile void* address, size_t bytes, tnbc::MemoryEnd end) {
  const int error = errno;
  TheMemoryHooks()->release(const_cast<const void*>(address), Within(address, bytes), end);
  errno = error;
}

void BeforeThread() {
  const MemoryHooks* hooks = TheMemoryHooks();
  if (hooks == nullptr || hooks->before_thread == nullptr) return;
  const int error = errno;
  hooks->before_thread();
  errno = error;
}

}  // namespace copse::preload
