// SPDX-License-Identifier: Apache-2.0
//
// Provides what the wrappers of libc's functions share: the functions that they call next, and the back end's hooks.
// Wrappers have nothing to unwind, since many are cancellation points. While nothing is pending, they call only
// async-signal-safe functions.
#ifndef COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_
#define COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_

#include <stddef.h>

#include <atomic>

#include "client/preload/libc_calls.h"
#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/memory_end.h"

// libc_trampolines.S defines these addresses, to which the functions of the list jump.
extern "C" __attribute__((visibility("hidden"))) void* copse_libc_slots[];

namespace copse::preload {

// A LibcCall is the number of a function in the list, under libc's own name for it.
enum class LibcCall : int {
#define COPSE_PRELOAD_NUMBER(name, ...) name,
  COPSE_LIBC_CALLS(COPSE_PRELOAD_NUMBER)
#undef COPSE_PRELOAD_NUMBER
};
#define COPSE_PRELOAD_COUNT(name, ...) +1
inline constexpr int kLibcCallCount = COPSE_LIBC_CALLS(COPSE_PRELOAD_COUNT);
// Functions that have wrappers come first in the list; this is their number.
inline constexpr int kWrapperCount = kLibcCallCount - (COPSE_LIBC_PROCESS_CALLS(COPSE_PRELOAD_COUNT));
#undef COPSE_PRELOAD_COUNT

// Returns the function that the program would call without the preload. If there is none, returns a function that fails
// with ENOSYS. Thread-safe.
void* NextLibcCall(LibcCall call);
template <typename Function>
Function* Next(LibcCall call) {
  return reinterpret_cast<Function*>(NextLibcCall(call));
}
// Returns the same by the function's name; null if the name is not in the list.
void* NextLibcCallNamed(const char* name);
// Finds all next functions at once, so that no signal handler has to.
void FindNextLibcCalls();

// It is null until the back end sets its hooks. Without hooks, wrappers only call the next function.
extern std::atomic<const MemoryHooks*> the_memory_hooks;
// Acquire: pairs with the release in copse_preload_set_memory_hooks, so that what the hooks refer to is seen with them.
inline const MemoryHooks* TheMemoryHooks() { return the_memory_hooks.load(std::memory_order_acquire); }

inline bool IsAnythingPending() {
  const MemoryHooks* hooks = TheMemoryHooks();
  return hooks != nullptr && hooks->pending->load(std::memory_order_relaxed) != 0;
}

inline bool IsAnythingAdopted() {
  const MemoryHooks* hooks = TheMemoryHooks();
  return hooks != nullptr && hooks->adopted != nullptr && hooks->adopted->load(std::memory_order_relaxed) != 0;
}

// Call the hooks of these names, and keep errno. Await and AwaitAll require IsAnythingPending(), Release requires
// IsAnythingAdopted().
void Await(const volatile void* address, size_t bytes);
void AwaitAll();
void Release(const volatile void* address, size_t bytes, tnbc::MemoryEnd end);

// Calls the hook of this name, if there is one, and keeps errno.
void BeforeThread();

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_LIBC_NEXT_H_
